"""A warm-up that never ends is shortened wherever its length is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.diagnose import diagnose
from stethoscope.prescription import Edit
from tests.prescription.patients import LOG

SCRIPT = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--max-steps", type=int, default=2000)
parser.add_argument("--warmup-steps", type=int, default=5000, help="linear")
args = parser.parse_args()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
warm = lambda step: min(1.0, step / args.warmup_steps)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warm)
for step in range(args.max_steps):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).square().mean().backward()
    optimizer.step()
    scheduler.step()
"""
FILES = {
    "yaml": ("settings.yml", "max_steps: 2000\nwarmup_steps: 5000  # long\n"),
    "toml": ("settings.toml", "max_steps = 2000\nwarmup_steps = 5_000 # long\n"),
    "json": ("config.json", '{"max_steps": 2000, "warmup_steps": 5000}\n'),
    "flag": ("run.sh", "python train.py --max-steps 2000 --warmup-steps 5000 > train.log\n"),
    "variable": (
        "run.sh",
        "WARM=5000  # long\npython train.py --max-steps 2000 --warmup-steps $WARM > train.log\n",
    ),
}


def edits(folder: Path) -> list[Edit]:
    (folder / "train.log").write_text(LOG)
    found = diagnose(folder).prescription.edits
    return [edit for edit in found if edit.remedy == "end-the-warm-up-in-time"]


@pytest.mark.parametrize("form", FILES)
def test_in_every_kind_of_settings_file(form: str, tmp_path: Path) -> None:
    name, text = FILES[form]
    (tmp_path / name).write_text(text)
    if name == "run.sh":
        (tmp_path / "train.py").write_text(SCRIPT)
    (edit,) = edits(tmp_path)
    assert edit.file.endswith(name)
    (splice,) = edit.splices
    shown = text[: splice.start] + splice.text + text[splice.end :]
    assert shown == text.replace("5_000", "100").replace("5000", "100")


def test_in_the_default_of_the_parser(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("python train.py --max-steps 2000 > train.log\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    (edit,) = edits(tmp_path)
    assert edit.kind == "source"
    assert '-parser.add_argument("--warmup-steps", type=int, default=5000, help="linear")' in edit.diff
    assert '+parser.add_argument("--warmup-steps", type=int, default=100, help="linear")' in edit.diff
