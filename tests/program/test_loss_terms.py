"""The terms of an objective, with signs, addresses and the text that mends them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stethoscope.program import read_program
from stethoscope.program.objective.loss_terms import LossTerm, loss_terms
from stethoscope.recipe import read_settings
from stethoscope.run import Recipe
from tests.program.program_text import apply, program_of

SSIM = """
import torch.nn.functional as F
from torch import nn


def luminance(x, y):
    m, n = F.avg_pool2d(x, 5, 1), F.avg_pool2d(y, 5, 1)
    return ((2 * m * n + 1e-4) / (m**2 + n**2 + 1e-4)).mean()


class SSIMLoss(nn.Module):
    def forward(self, pred, target):
        {body}
"""
LOOP = """
from losses import SSIMLoss, luminance


def train(net, loader, optimizer, weight=0.1):
    criterion = SSIMLoss()
    for lq, gt in loader:
        out = net(lq)
        {body}
        loss.backward()
        optimizer.step()
"""


def wrong(folder: Path, **files: str) -> list[LossTerm]:
    return [term for term in loss_terms(program_of(folder, **files)).terms if term.wrong]


@pytest.mark.parametrize(
    ("body", "mended"),
    [
        ("return luminance(pred, target)", "return 1 - luminance(pred, target)"),
        ("value = luminance(pred, target)\n        return value", "return 1 - value"),
        ("return luminance(pred, target) * 0.5 + 0.5", "return 1 - (luminance(pred, target) * 0.5 + 0.5)"),
    ],
)
def test_a_loss_is_mended_where_it_returns(tmp_path: Path, body: str, mended: str) -> None:
    files = {"losses": SSIM.format(body=body), "train": LOOP.format(body="loss = criterion(out, gt)")}
    (term,) = wrong(tmp_path, **files)
    assert term.name == "SSIMLoss.forward"
    assert term.component == "ssim"
    assert "its largest value" in term.proof
    assert term.fix is not None
    apply((term.fix,))
    assert mended in (tmp_path / "losses.py").read_text()
    assert wrong(tmp_path) == []


def test_a_helper_is_mended_where_it_is_called(tmp_path: Path) -> None:
    body = "loss = (out - gt).abs().mean() + 0.2 * luminance(out, gt)  # caf\u00e9"
    (term,) = wrong(tmp_path, losses=SSIM.format(body="pass"), train=LOOP.format(body=body))
    assert term.weight == 0.2
    assert term.fix is not None
    apply((term.fix,))
    assert "0.2 * (1 - luminance(out, gt))  # caf\u00e9" in (tmp_path / "train.py").read_text(
        encoding="utf-8"
    )
    assert wrong(tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        "loss = 0\n        for f in (F.l1_loss, luminance):\n            loss = loss + f(out, gt)",
        "loss = sum(f(out, gt) for f in [MS_SSIM(), nn.L1Loss()])",
    ],
)
def test_a_call_that_other_terms_share_is_not_edited(tmp_path: Path, body: str) -> None:
    imports = "import torch.nn.functional as F\nfrom pytorch_msssim import MS_SSIM\nfrom torch import nn\n"
    (term,) = wrong(tmp_path, losses=SSIM.format(body="pass"), train=imports + LOOP.format(body=body))
    assert term.fix is None


def test_a_loss_handed_to_a_trainer_is_mended_where_it_returns(tmp_path: Path) -> None:
    train = "from fastai.vision.all import *\nfrom losses import luminance\n"
    train += "learner = unet_learner(data, resnet34, loss_func=luminance)\n"
    (term,) = wrong(tmp_path, losses=SSIM.format(body="pass"), train=train)
    assert term.fix is not None
    assert term.fix.file.endswith("losses.py")
    apply((term.fix,))
    assert wrong(tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        "loss = 1 - luminance(out, gt)",
        "loss = -luminance(out, gt)",
        "loss = weight * (1 - luminance(out, gt))",
        "loss = (out - gt).abs().mean() - weight * luminance(out, gt)",
        "loss = 1 / luminance(out, gt)",
        "loss = (1 - luminance(out, gt)) ** 2",
        "loss = (luminance(out, gt) - 1).abs()",
        "loss = -luminance(out, gt).log()",
        "s = luminance(out, gt)\n        loss = 1 - s",
        "loss = (out - gt).abs().mean() * luminance(out, gt).detach()",
        "loss = (out - gt).abs().mean()\n        print(luminance(out, gt))",
        "loss = luminance(out, net(gt))",
        "loss = luminance(lq, gt)",
        "loss = (out * gt).mean()",
        "loss = unknown(out, gt)",
        "terms = [1 - luminance(out, gt), (out - gt).abs().mean()]\n        loss = sum(terms)",
        "loss = criterion(out, gt)",
    ],
)
def test_the_right_sign_anywhere_on_the_way_is_silent(tmp_path: Path, body: str) -> None:
    losses = SSIM.format(body="return 1 - luminance(pred, target)")
    assert wrong(tmp_path, losses=losses, train=LOOP.format(body=body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "loss = luminance(out, gt)",
        "loss = weight * luminance(out, gt)",
        "loss = (out - gt).abs().mean() + weight * luminance(out, gt)",
        "loss = luminance(out, gt) / 4",
        "loss = luminance(out, gt).clamp(0, 1) ** 0.5",
        "loss = luminance(out, gt).log()",
        "loss = -(1 - luminance(out, gt))",
        "terms = {'a': (out - gt).abs().mean(), 'b': luminance(out, gt)}\n        loss = sum(terms.values())",
        "loss = 0\n        for f in (luminance,):\n            loss += f(out, gt)",
        "loss = (out - gt).abs().mean()\n        if weight:\n            loss += weight * luminance(out, gt)",
        "loss = torch.stack([luminance(out, gt), (out - gt).abs().mean()]).sum()",
    ],
)
def test_the_wrong_sign_is_found_however_it_is_summed(tmp_path: Path, body: str) -> None:
    losses = SSIM.format(body="return 1 - luminance(pred, target)")
    assert len(wrong(tmp_path, losses=losses, train="import torch\n" + LOOP.format(body=body))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "(-loss).backward()",
        "scaler.scale(-loss).backward()",
        "accelerator.backward(-loss)",
        "self.manual_backward(-loss)",
    ],
)
def test_a_sign_at_the_backward_pass_counts(tmp_path: Path, line: str) -> None:
    losses = SSIM.format(body="return luminance(pred, target)")
    loop = LOOP.format(body="loss = criterion(out, gt)")
    assert (
        len(wrong(tmp_path, losses=losses, train=loop.replace("loss.backward()", line.replace("-", "")))) == 1
    )
    assert wrong(tmp_path, train=loop.replace("loss.backward()", line)) == []


def test_the_first_patient_is_sick_and_its_twin_is_not(tmp_path: Path) -> None:
    cure = pytest.importorskip("stethoscope.clinic.cases.nano_sr.cure")
    cure.copy_project(tmp_path / "sick")
    cure.copy_project(tmp_path / "cured", cure.CURE)
    settings = next(Path(cure.PROJECT).rglob("*.yml"))
    recipe = Recipe(read_settings(settings.read_text(), settings.name, "yaml"))
    sick, _ = read_program(tmp_path / "sick", str(tmp_path / "sick"))
    cured, _ = read_program(tmp_path / "cured", str(tmp_path / "cured"))
    (term,) = [term for term in loss_terms(sick, recipe).terms if term.wrong]
    assert (term.name, term.weight, term.component) == ("SSIMLoss.forward", 0.05, "ssim")
    assert term.fix is not None
    apply((term.fix,))
    mended = Path(term.fix.file).relative_to(tmp_path / "sick")
    assert (tmp_path / "sick" / mended).read_text() == (tmp_path / "cured" / mended).read_text()
    assert not [term for term in loss_terms(cured, recipe).terms if term.wrong]
    shutil.rmtree(tmp_path / "sick")
