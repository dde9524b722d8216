"""Trackio's databases: one for each project, of as many runs as there were."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from stethoscope.errors import UnreadableFile
from stethoscope.logs import read_log
from stethoscope.recipe import read_settings
from stethoscope.run import EventKind
from tests.fixtures.logs.make import HERE
from tests.logs.databases import Damage, damages, database_of
from tests.logs.reading import assert_read_or_refused, series

RECORDED = HERE / "recorded" / "trackio" / "toy.sql"

# As the first versions made it: without a number for the run, and with text in place of bytes.
FIRST = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT);
INSERT INTO metrics VALUES (1, '2025-08-01T10:00:00', 'a', 0, '{"loss": 2.0}');
INSERT INTO metrics VALUES (2, '2025-08-01T10:00:10', 'b', 0, '{"loss": 1.0}');
INSERT INTO metrics VALUES (3, '2025-08-01T10:00:20', 'b', 1, '{"loss": "NaN"}');
INSERT INTO metrics VALUES (4, '2025-08-01T10:00:30', 'b', 2, 'not json');
INSERT INTO configs VALUES (1, 'b', '{"lr": 0.5}', '');
"""


def made(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "toy.db"
    path.write_bytes(database_of(script))
    return path


def test_the_latest_run_of_a_project_is_read(tmp_path: Path) -> None:
    log = read_log(made(tmp_path, RECORDED.read_text()))
    assert log.format == "Trackio database"
    loss = series(log, "loss")
    assert loss.steps.tolist() == [*range(0, 150, 10)]
    assert loss.values[0] == 2.0
    assert math.isnan(loss.values[4])
    assert series(log, "grad_norm").values[3] == math.inf
    assert "the latest run, run-1, was read; 1 other run was not: run-0" in log.notes
    assert log.started is not None


def test_its_config_is_a_document(tmp_path: Path) -> None:
    (document,) = read_log(made(tmp_path, RECORDED.read_text())).documents
    held = {s.dotted: s.value for s in read_settings(document.text, document.file, document.syntax)}
    assert held == {"lr": 1e-5, "model.dim": 4}


def test_its_alerts_are_told(tmp_path: Path) -> None:
    log = read_log(made(tmp_path, RECORDED.read_text()))
    (event,) = log.events
    assert (event.kind, event.step) == (EventKind.NON_FINITE, 140)
    assert "1 alert was raised by the run: loss is nan" in log.notes


def test_the_first_versions_are_read(tmp_path: Path) -> None:
    log = read_log(made(tmp_path, FIRST))
    np.testing.assert_array_equal(series(log, "loss").values, [1.0, math.nan])
    assert len(log.documents) == 1
    assert "1 rows are no JSON objects and were passed over" in log.notes


def test_the_trainers_own_counter_counts(tmp_path: Path) -> None:
    rows = "".join(
        f"INSERT INTO metrics VALUES ({at}, '', 'a', {at}, '{{\"loss\": 1, \"global_step\": {at * 50}}}');"
        for at in range(1, 5)
    )
    log = read_log(made(tmp_path, "".join(FIRST.partition("INSERT")[0]) + rows))
    assert series(log, "loss").steps.tolist() == [50, 100, 150, 200]


def test_a_project_without_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="without a logged value"):
        read_log(made(tmp_path, FIRST.partition("INSERT")[0]))


@settings(max_examples=40)
@given(damage=damages)
def test_any_damage_is_borne(damage: Damage, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "toy.db"
    path.write_bytes(damage.done_to(database_of(RECORDED.read_text())))
    assert_read_or_refused(path)
