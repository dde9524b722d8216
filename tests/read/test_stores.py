"""Runs that trackers keep: in many files, in two places, or only as last values."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stethoscope.inventory import Kind, take_stock
from stethoscope.read import LAST_VALUES_ONLY, read
from tests.fixtures.logs.make import HERE

RECORDED = HERE / "recorded"
RUNS = sorted(loss.parent.parent for loss in RECORDED.glob("mlflow/mlruns/1/*/metrics/loss"))


@pytest.mark.parametrize("folder", RUNS, ids=lambda path: path.name[:6])
def test_the_files_of_an_mlflow_run_are_one_log(folder: Path) -> None:
    run = read(folder)
    assert [log.format for log in run.logs] == ["MLflow file store"]
    assert "loss" in run.series
    assert run.unread == ()


def test_each_run_of_an_mlflow_store_is_listed_with_all_its_files() -> None:
    stock = take_stock(RECORDED / "mlflow" / "mlruns")
    assert len(stock.runs) == len(RUNS)
    for run in stock.runs:
        assert {met.kind for met in run.files if "metrics" in met.file} == {Kind.LOG}
        assert len(run.logs) == 1
        assert "loss" in run.series
    assert not [met for met in stock.files if "metrics" in met.file]


def test_last_values_count_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    for name in ("all_results.json", "train_results.json", "trainer_state.json"):
        shutil.copy(RECORDED / "hf" / name, tmp_path)
    run = read(tmp_path)
    assert [log.format for log in run.logs] == ["HF trainer_state.json"]
    assert [one.reason for one in run.unread] == [LAST_VALUES_ONLY] * 2
    (tmp_path / "trainer_state.json").unlink()
    assert read(tmp_path).series
