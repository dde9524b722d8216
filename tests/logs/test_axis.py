"""The column that counts steps, under the names that people give it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.logs import read_log


@pytest.mark.parametrize("name", ["batch_idx", "global_iteration", "train/iteration", "progress.iteration"])
def test_a_counter_is_known_by_many_names(tmp_path: Path, name: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(f'{{"{name}": {at * 50}, "loss": {2.0 - at / 10}}}\n' for at in range(6)))
    (loss,) = [series for series in read_log(file, "log.jsonl").series if series.name == "loss"]
    assert loss.axis == "step"
    assert loss.steps.tolist() == [0, 50, 100, 150, 200, 250]


def test_a_nested_counter_is_found(tmp_path: Path) -> None:
    rows = [{"progress": {"iteration": at * 10}, "losses": {"total": 1.0 / (at + 1)}} for at in range(6)]
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (loss,) = [series for series in read_log(file, "log.jsonl").series if series.name == "loss"]
    assert loss.steps.tolist() == [0, 10, 20, 30, 40, 50]
