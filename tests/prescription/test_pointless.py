"""What is set already, cannot act, or was tried without success is not prescribed."""

from __future__ import annotations

import json
from pathlib import Path

from stethoscope.diagnose import diagnose
from tests.prescription.patients import LOG

WARM_UP = "max_steps: 2000\nwarmup_steps: {}\n"


def remedies(folder: Path) -> list[str]:
    return [edit.remedy for edit in diagnose(folder).prescription.edits]


def run_with(folder: Path, settings: str, source: str = "") -> Path:
    (folder / "settings.yml").write_text(settings)
    (folder / "train.log").write_text(LOG)
    if source:
        (folder / "train.py").write_text(source)
    return folder


def test_what_is_set_already_is_not_prescribed(tmp_path: Path) -> None:
    run_with(tmp_path, WARM_UP.format(5000))
    assert remedies(tmp_path) == ["end-the-warm-up-in-time"]
    run_with(tmp_path, WARM_UP.format(100))
    assert remedies(tmp_path) == []


LOOP = """
import torch
import yaml

opt = yaml.safe_load(open("settings.yml"))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{schedule}
for step in range(opt["max_steps"]):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).square().mean().backward()
    optimizer.step()
    {stepped}
"""
SCHEDULE = (
    "scheduler = torch.optim.lr_scheduler.LambdaLR("
    'optimizer, lambda step: min(1.0, step / opt["warmup_steps"]))'
)


def test_what_nothing_reads_is_not_prescribed(tmp_path: Path) -> None:
    read = LOOP.format(schedule=SCHEDULE, stepped="scheduler.step()")
    run_with(tmp_path, WARM_UP.format(5000), read)
    assert "end-the-warm-up-in-time" in remedies(tmp_path)
    run_with(tmp_path, WARM_UP.format(5000), LOOP.format(schedule="", stepped=""))
    assert "end-the-warm-up-in-time" not in remedies(tmp_path)


def test_a_value_that_a_trial_refuted_is_not_prescribed(tmp_path: Path) -> None:
    run_with(tmp_path, WARM_UP.format(5000))
    change = {
        "name": "warmup_steps=100",
        "title": "set warmup_steps to 100",
        "causes": [],
        "classes": ["harmful"],
        "why": "-0.4 dB on 8 seeds",
        "edits": [{"kind": "newvalue", "key": "warmup_steps", "value": "100", "file": "settings.yml"}],
    }
    trial = {
        "schema": 1,
        "kind": "trial",
        "seeds": list(range(8)),
        "complete": True,
        "metric": {"name": "val/psnr"},
        "changes": [change],
    }
    (tmp_path / "trial.json").write_text(json.dumps(trial))
    assert remedies(tmp_path) == []
