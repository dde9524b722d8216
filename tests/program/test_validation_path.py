"""What validation does to its yardstick, and the cut that takes it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program import read_program
from stethoscope.program.evaluation.shrinking import Shrinking
from stethoscope.program.evaluation.validation_path import validation_path
from tests.program.program_text import apply, program_of

VALIDATE = """
import cv2
import torch
import torch.nn.functional as F
from torchvision.transforms import functional as TF


@torch.no_grad()
def validate(net, loader, psnr, max_side=512):
    total = 0.0
    for lq, gt in loader:
{body}
        total += psnr(net(lq), gt)
    return total
"""


def found(folder: Path, body: str) -> list[Shrinking]:
    indented = "\n".join(f"        {line}" for line in body.split("\n"))
    program = program_of(folder, val=VALIDATE.format(body=indented))
    return list(validation_path(program).shrinkings)


@pytest.mark.parametrize(
    ("body", "longest"),
    [
        ("lq, gt = F.interpolate(lq, size=64), F.interpolate(gt, size=64)", 64),
        (
            "h, w = gt.shape[-2:]\ns = 99 / max(h, w)\nif s < 1:\n    gt = F.interpolate(gt, scale_factor=s)",
            99,
        ),
        ("gt = TF.resize(gt, 60, antialias=True)", 60),
        ("gt = cv2.resize(gt, dsize=(50, 40))", 50),
        ("gt = cv2.resize(gt, None, fx=0.25, fy=0.25)", None),
        ("gt = F.avg_pool2d(gt, kernel_size=2)", None),
        ("gt = gt[:, :, ::2, ::2]", None),
        ("gt = gt[::3, ::3]", None),
        (
            "n = max(gt.size(2), gt.size(3))\nif n > max_side:\n    gt = F.interpolate(gt, size=max_side)",
            128,
        ),
        ("if gt.shape[2] > 256:\n    gt = torch.nn.functional.adaptive_avg_pool2d(gt, 256)", 256),
        ("down = torch.nn.Upsample(scale_factor=0.5)\nlq, gt = down(lq), down(gt)", None),
        ("gt = gt[..., 10:74, 10:74]", 64),
    ],
)
def test_a_shrunken_target_is_found_with_its_size(tmp_path: Path, body: str, longest: int | None) -> None:
    (shrinking,) = found(tmp_path, body)
    assert shrinking.longest == longest


@pytest.mark.parametrize(
    "body",
    [
        "lq = F.interpolate(gt, scale_factor=0.25)",
        "lq = F.interpolate(lq, size=gt.shape[-2:])",
        "gt = F.interpolate(gt, scale_factor=2)",
        "gt = gt[..., 4:-4, 4:-4]",
        "h, w = gt.shape[-2:]\ngt = gt[..., : h // 8 * 8, : w // 8 * 8]",
        "gt = F.pad(gt, (0, 7, 0, 7))",
        "gt = F.interpolate(gt, size=(512, 512))",
        "gt = TF.center_crop(gt, 224 * 2)",
        "gt = gt.to('cuda').clamp(0, 1)",
        "thumb = F.interpolate(gt, size=32)\nsave_image(thumb, 'x.png')",
        "gt = gt[0]",
        "gt = unknown(gt, 64)",
    ],
)
def test_what_leaves_the_yardstick_alone_is_silent(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == []


def test_a_conditional_block_is_cut_with_what_only_served_it(tmp_path: Path) -> None:
    body = (
        "h, w = gt.shape[-2:]\n"
        "longest = max(lq.shape[-2:])\n"
        "# Memory is short.\n"
        "if longest > 64:\n"
        "    factor = 64 / longest\n"
        "    lq = F.interpolate(lq, scale_factor=factor)\n"
        "    gt = F.interpolate(gt, scale_factor=factor)\n"
        "print(h, w)"
    )
    (shrinking,) = found(tmp_path, body)
    assert shrinking.input_longest == 64
    apply(shrinking.fixes)
    left = (tmp_path / "val.py").read_text()
    assert "interpolate" not in left
    assert "Memory" not in left
    assert "longest" not in left
    assert "h, w = gt.shape[-2:]" in left
    program, _ = read_program(tmp_path, str(tmp_path))
    assert validation_path(program).shrinkings == ()


def test_no_empty_block_is_left_behind(tmp_path: Path) -> None:
    body = "if gt is not None:\n    n = 64\n    if max(gt.shape) > n:\n        gt = F.interpolate(gt, size=n)"
    (shrinking,) = found(tmp_path, body)
    apply(shrinking.fixes)
    assert "if gt" not in (tmp_path / "val.py").read_text()
    program, unread = read_program(tmp_path, str(tmp_path))
    assert unread == ()
    assert validation_path(program).shrinkings == ()


def test_statements_that_replace_their_argument_are_cut(tmp_path: Path) -> None:
    (shrinking,) = found(tmp_path, "lq = F.interpolate(lq, size=64)\ngt = F.interpolate(gt, size=64)")
    apply(shrinking.fixes)
    assert "interpolate(" not in (tmp_path / "val.py").read_text()


def test_nothing_is_cut_that_others_need(tmp_path: Path) -> None:
    body = "if max(gt.shape) > 64:\n    small = F.interpolate(gt, size=64)\n    gt = small\n    print(small)"
    (shrinking,) = found(tmp_path, body)
    assert shrinking.fixes == ()


def test_the_first_patient_is_sick_and_its_twin_is_not(tmp_path: Path) -> None:
    cure = pytest.importorskip("stethoscope.clinic.cases.nano_sr.cure")
    cure.copy_project(tmp_path / "sick")
    cure.copy_project(tmp_path / "cured", cure.CURE)
    sick, _ = read_program(tmp_path / "sick", str(tmp_path / "sick"))
    cured, _ = read_program(tmp_path / "cured", str(tmp_path / "cured"))
    (shrinking,) = validation_path(sick).shrinkings
    assert (shrinking.function, shrinking.input_longest, shrinking.conditional) == ("SRModel.test", 64, True)
    apply(shrinking.fixes)
    mended = Path(shrinking.where.file).relative_to(tmp_path / "sick")
    assert (tmp_path / "sick" / mended).read_text() == (tmp_path / "cured" / mended).read_text()
    assert validation_path(cured).shrinkings == ()
    assert validation_path(cured).compared > 0
