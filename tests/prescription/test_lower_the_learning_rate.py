"""A third of the rate is written where the run surely had the whole of it."""

from __future__ import annotations

from pathlib import Path

from stethoscope.diagnose import diagnose
from stethoscope.prescription import Edit, Level


def diverging(folder: Path, settings: str, rate: float | None = 0.03) -> list[Edit]:
    """The edits for a run that falls, and then runs away at full rate."""
    (folder / "settings.toml").write_text(settings)
    rows = ["step,loss,lr" if rate is not None else "step,loss"]
    loss = 2.0
    for step in range(0, 1000, 5):
        loss = 0.5 + 1.5 * 0.99**step if step < 500 else min(loss * 1.12, 1e6)
        rows.append(f"{step},{loss:.5f}" + (f",{rate}" if rate is not None else ""))
    (folder / "metrics.csv").write_text("\n".join(rows) + "\n")
    edits = diagnose(folder).prescription.edits
    return [edit for edit in edits if edit.remedy == "lower-the-learning-rate"]


SETTINGS = "[optim]\nlr = 0.03  # the peak\nsteps = 1000\n"


def test_a_third_of_the_rate_is_written_in_its_place(tmp_path: Path) -> None:
    (edit,) = diverging(tmp_path, SETTINGS)
    assert edit.level is Level.UNSAFE
    assert "-lr = 0.03  # the peak" in edit.diff
    assert "+lr = 0.01  # the peak" in edit.diff


def test_a_rate_that_was_lowered_since_is_not_lowered_again(tmp_path: Path) -> None:
    assert diverging(tmp_path, SETTINGS.replace("0.03", "0.01")) == []


def test_a_rate_that_was_not_logged_is_left_alone(tmp_path: Path) -> None:
    assert diverging(tmp_path, SETTINGS, rate=None) == []


def test_one_of_two_rates_is_left_alone(tmp_path: Path) -> None:
    assert diverging(tmp_path, SETTINGS + "[head]\nlr = 0.03\n") == []


SCRIPT = """\
import sys
import tomllib
import torch

with open(sys.argv[1], "rb") as file:
    cfg = tomllib.load(file)

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=cfg["optim"].get("lr", 0.03))
for step in range(cfg["steps"]):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WITHOUT = "steps = 1000  # in all\n\n[optim]\nname = 'sgd'  # plain\n"


def test_a_rate_that_the_source_reads_with_a_default_is_added_to_the_settings(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (edit,) = diverging(tmp_path, WITHOUT)
    assert edit.file.endswith("settings.toml")
    assert [line for line in edit.diff.splitlines() if line[:1] in "+-"][2:] == ["+lr = 0.01"]
    (tmp_path / "settings.toml").write_text(WITHOUT + "lr = 0.01\n")
    assert diverging(tmp_path, WITHOUT + "lr = 0.01\n") == []


def test_a_rate_that_is_read_from_somewhere_else_is_not_added(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("tomllib.load(file)", '{"optim": {}, "steps": 9}'))
    assert diverging(tmp_path, WITHOUT) == []


def test_a_default_that_the_run_did_not_have_is_not_added(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("0.03", "0.001"))
    assert diverging(tmp_path, WITHOUT) == []
