"""Evaluations, networks, resumptions and ranks, as the source shows them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stethoscope.program.evaluation.evaluations import Walk, walks
from stethoscope.program.index import index
from stethoscope.program.ranks.decisions import asks_for_rank
from stethoscope.program.resume.checkpointing import Resumption, resumptions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.networks import has_two_modes
from tests.program.program_text import program_of

HEAD = "import torch\nfrom torch import nn\n"
LOOP = """
optimizer = torch.optim.AdamW(net.parameters())
for epoch in range(start, 10):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in val_loader:
            print(net(x))
"""


def _walk(folder: Path, text: str) -> Walk:
    program = program_of(folder, train=HEAD + text)
    (walk,) = walks(index(program), settings_tree(None))
    return walk


def test_a_loop_over_held_out_data_is_an_evaluation(tmp_path: Path) -> None:
    (found,) = _walk(tmp_path, "start = 0\nnet = nn.Linear(1, 1)\n" + LOOP).evaluations
    assert found.forward.event.site.text == "net(x)"
    assert found.gradients is False


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("nn.Linear(1, 1)", False),
        ("nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))", True),
        ("nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.0))", False),
        ("nn.BatchNorm1d(1)", True),
        ("unknown_factory()", None),
    ],
)
def test_dropout_and_batch_norm_give_a_network_two_modes(
    tmp_path: Path, made: str, expected: bool | None
) -> None:
    walk = _walk(tmp_path, f"start = 0\nnet = {made}\n" + LOOP)
    (found,) = walk.evaluations
    assert has_two_modes(walk.trace.run, found.network) is expected


def _resumed(folder: Path, text: str) -> list[Resumption]:
    return list(resumptions(_walk(folder, f"net = nn.Linear(1, 1)\nstart = 0\n{text}\n" + LOOP)))


def test_a_counter_that_goes_on_makes_a_resumption(tmp_path: Path) -> None:
    text = 'state = torch.load(path)\nnet.load_state_dict(state["net"])\nstart = state["epoch"]'
    (found,) = _resumed(tmp_path, text)
    assert found.counter is not None
    assert found.counter.site.text == 'state["epoch"]'


def test_loading_weights_alone_is_no_resumption(tmp_path: Path) -> None:
    assert not _resumed(tmp_path, "net.load_state_dict(torch.load(path))")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("rank == 0", True),
        ("args.local_rank != 0", False),
        ("local_rank in (-1, 0)", True),
        ("local_rank not in [-1, 0]", False),
        ("dist.get_rank() == 0", True),
        ("int(os.environ['RANK']) == 0", True),
        ("accelerator.is_main_process", True),
        ("not is_main_process()", False),
        ("step % 10 == 0 and rank == 0", True),
        ("world_size > 1", None),
        ("epoch == 0", None),
        ("self.lora_rank > 0", None),
    ],
)
def test_conditions_on_the_rank_are_told_from_others(condition: str, expected: bool | None) -> None:
    assert asks_for_rank(ast.parse(condition, mode="eval").body) is expected


def test_data_are_held_out_by_what_they_were_called_before(tmp_path: Path) -> None:
    text = """
net = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))
optimizer = torch.optim.AdamW(net.parameters())
dev_set = torch.utils.data.DataLoader(rows)

def look(batches):
    with torch.no_grad():
        return [net(x) for x in batches]

for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
feed = dev_set
look(batches=feed)
"""
    (found,) = _walk(tmp_path, text).evaluations
    assert found.forward.event.site.text == "net(x)"
    assert getattr(found.function, "name", "") == "look"


def test_a_run_that_a_loss_comes_from_is_none(tmp_path: Path) -> None:
    text = """
net = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))
optimizer = torch.optim.AdamW(net.parameters())

def evaluate(x, y):
    return nn.functional.mse_loss(net(x), y)

for x, y in loader:
    optimizer.zero_grad()
    evaluate(x, y).backward()
    optimizer.step()
"""
    assert _walk(tmp_path, text).evaluations == ()
