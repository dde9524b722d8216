"""The terms of a loss are weighed against each other without running any of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.objective.objectives import Objectives, objectives
from stethoscope.program.objective.term_sizes import ERRORS, LARGE, SMALL, TermSize, with_assumed
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

HEAD = """
import functools
import operator
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Conv2d(3, 3, 3, padding=1)
"""
L1 = 0.0160864  # mean of |0.02 n| for the noise that is drawn


def objectives_of(folder: Path, loss: str, before: str = "") -> Objectives:
    text = HEAD + before + f"for x, y in loader:\n    out = net(x)\n    loss = {loss}\n    loss.backward()\n"
    return objectives(index(program_of(folder, train=text)), SettingsTree())


def sizes_of(folder: Path, loss: str, before: str = "") -> list[float]:
    found = objectives_of(folder, loss, before).sizes
    return [term.sizes[SMALL, ERRORS[0]] for term in (found[0] if found else ())]


@pytest.mark.parametrize(
    ("loss", "factors"),
    [
        ("F.l1_loss(out, y) + 0.5 * F.l1_loss(out, y)", (1, 0.5)),
        ("(F.l1_loss(out, y) + F.l1_loss(out, y) * 2) / steps", (1, 2)),
        ("torch.add(F.l1_loss(out, y), F.l1_loss(out, y), alpha=0.5)", (1, 0.5)),
        ("torch.stack([F.l1_loss(out, y), F.l1_loss(out, y)]) @ torch.tensor([2.0, 0.5])", (2, 0.5)),
        ("(torch.cat([F.l1_loss(out, y), F.l1_loss(out, y)]) * torch.tensor([1, 3])).sum()", (1, 3)),
        ("functools.reduce(operator.add, [F.l1_loss(out, y), 0.2 * F.l1_loss(out, y)])", (1, 0.2)),
        ("functools.reduce(lambda a, b: a + b, [F.l1_loss(out, y), 2 * F.l1_loss(out, y)])", (1, 2)),
        ("0.1 * (F.l1_loss(out, y) + F.l1_loss(out, y)) + F.l1_loss(out, y)", (0.1, 0.1, 1)),
        ("F.l1_loss(out, y) - 3 * F.l1_loss(out, y)", (1, 3)),
        ("torch.stack([F.l1_loss(out, y), 2 * F.l1_loss(out, y)]).sum()", (1, 2)),
        ("sum({'a': F.l1_loss(out, y), 'b': 4 * F.l1_loss(out, y)}.values())", (1, 4)),
    ],
)
def test_weights_are_part_of_the_size(tmp_path: Path, loss: str, factors: tuple[float, ...]) -> None:
    assert sizes_of(tmp_path, loss) == pytest.approx([L1 * factor for factor in factors], rel=1e-3)


def test_one_term_is_no_sum(tmp_path: Path) -> None:
    assert objectives_of(tmp_path, "2 * F.l1_loss(out, y)").sizes == ()


def test_a_learned_scale_stands_at_its_first_value(tmp_path: Path) -> None:
    scales = """
class Balance(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(2))

    def forward(self, one, other):
        return torch.exp(-self.s[0]) * one + torch.exp(-self.s[1]) * other


balance = Balance()
"""
    sizes = sizes_of(tmp_path, "balance(F.l1_loss(out, y), 3 * F.l1_loss(out, y))", scales)
    assert sizes == pytest.approx([L1, 3 * L1], rel=1e-3)


def test_a_weight_comes_from_the_option_that_declares_it(tmp_path: Path) -> None:
    options = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--edge-weight', type=float, default=0.25)\nargs = parser.parse_args()\n"
    )
    loss = "F.l1_loss(out, y) + args.edge_weight * F.l1_loss(out, y)"
    (terms,) = objectives_of(tmp_path, loss, options).sizes
    assert terms[1].sizes[SMALL, ERRORS[0]] == pytest.approx(L1 / 4, rel=1e-3)
    assert with_assumed(terms[1]) == ", with edge_weight = 0.25 as declared"
    assert with_assumed(terms[0]) == ""


def test_a_transform_without_norm_grows_and_one_with_it_does_not(tmp_path: Path) -> None:
    def growth(norm: str) -> float:
        loss = f"F.l1_loss(out, y) + (torch.fft.fft2(out{norm}) - torch.fft.fft2(y{norm})).abs().mean()"
        (terms,) = objectives_of(tmp_path / (norm[-3:-1] or "none"), loss).sizes
        spectral: TermSize = next(term for term in terms if term.is_spectral)
        assert spectral.spectrum is not None
        return spectral.growth

    assert growth("") == pytest.approx(2, rel=0.05)
    assert growth(', norm="ortho"') == pytest.approx(1, rel=0.05)
    assert growth(', norm="forward"') == pytest.approx(0.5, rel=0.05)


def test_means_that_cannot_be_computed_are_told_by_their_weight(tmp_path: Path) -> None:
    loss = "F.cross_entropy(out, y) + 1e-12 * net(x).pow(2).mean() + 1e-12 * net(x).pow(2).sum()"
    weights = objectives_of(tmp_path, loss).weights
    assert [(term.weight, term.others) for term in weights] == [(1, 1e-12), (1e-12, 1)]


def test_a_mask_leaves_the_size_as_it_is(tmp_path: Path) -> None:
    loss = "(out - y).abs()[x.valid].mean() + F.l1_loss(out, y)"
    assert sizes_of(tmp_path, loss) == pytest.approx([L1, L1], rel=1e-3)


@pytest.mark.parametrize(
    "loss",
    [
        "loss + loss",
        "F.l1_loss(out, y) / 0 + F.l1_loss(out, y)",
        "F.l1_loss(out, y) * 10 ** 400 + F.l1_loss(out, y)",
        "(out - y)[torch.zeros(0).long()].mean() + F.l1_loss(out, y)",
        " + ".join(["F.l1_loss(out, y)"] * 200),
    ],
)
def test_hostile_sums_are_survived(tmp_path: Path, loss: str) -> None:
    for terms in objectives_of(tmp_path, loss).sizes:
        assert all(size >= 0 for term in terms for size in term.sizes.values())
        assert {side for side, _ in terms[0].sizes} == {SMALL, LARGE}
