"""`stethoscope settings`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from stethoscope.cli.settings import command

LOOP = """
import torch
import yaml

cfg = yaml.safe_load(open("config.yml"))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(cfg["max_steps"]):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).square().mean().backward()
    optimizer.step()
"""


def project(folder: Path) -> str:
    (folder / "config.yml").write_text("lr: 0.001\nmax_steps: 100\nmax_grad_norm: 1.0\n")
    (folder / "train.py").write_text(LOOP)
    return str(folder)


def test_the_table_says_what_differs(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [project(tmp_path)], standalone_mode=False)
    assert done.exception is None
    rows = [line.split() for line in done.output.splitlines()]
    assert ["learning", "rate", "0.001", "0.0003", "config.yml:1,", "train.py:7"] in rows
    assert "lr asks for 0.001, and the source has 0.0003." in done.output
    assert "max_grad_norm asks for 1, and the source has none." in done.output


def test_json_has_every_quantity_and_address(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [project(tmp_path), "--format", "json"], standalone_mode=False)
    told = json.loads(done.output)
    assert told["schema"] == 1
    rate = next(one for one in told["quantities"] if one["quantity"] == "learning rate")
    assert rate["differs"] is True
    assert rate["asked"][0]["where"] == {"file": str(tmp_path / "config.yml"), "line": 1}
    assert rate["in_effect"][0]["known_from"] == "code"
    assert told["length"]["steps"] == 100


def test_a_folder_without_settings_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("step,loss\n0,1.0\n10,0.9\n")
    done = CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False)
    assert "no settings and no training loop" in str(done.exception)
