"""MLflow's two stores: folders of small files, and a database of many runs."""

from __future__ import annotations

import gzip
import io
import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, mlflow_metric, read_log, recognised
from stethoscope.logs._reading.stream import pour
from stethoscope.logs._stores import sqlite as _sqlite
from stethoscope.recipe import read_settings
from stethoscope.run import EventKind, Log
from tests.fixtures.logs.make import HERE
from tests.logs.databases import Damage, damages, database_of
from tests.logs.reading import assert_read_or_refused, series

RECORDED = HERE / "recorded" / "mlflow"
STORE = RECORDED / "mlruns" / "1"


def values_of(log: Log) -> dict[str, object]:
    (document,) = log.documents
    return {s.dotted: s.value for s in read_settings(document.text, document.file, document.syntax)}


def run_called(name: str) -> Path:
    (path,) = [path.parent for path in STORE.glob("*/meta.yaml") if f"run_name: {name}" in path.read_text()]
    return path


def files_of(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


# --- the file store -------------------------------------------------------------------------------------


def test_a_metric_is_read_from_its_file() -> None:
    path = run_called("second run") / "metrics" / "val" / "loss"
    log = read_log(path, "metrics/val/loss")
    assert log.format == "MLflow file store"
    loss = series(log, "val/loss")
    assert list(loss) == [(40, 0.4), (90, math.inf)]
    assert loss.logged_as == "val/loss"
    assert loss.lines == (1, 2)


def test_a_run_is_one_log_of_all_its_files() -> None:
    root = run_called("second run")
    log = mlflow_metric.read_bundle(root, files_of(root), "mlruns/1/x")
    loss = series(log, "loss")
    assert loss.steps.tolist() == [*range(0, 120, 10)]
    assert math.isnan(loss.values[7])
    assert loss.file == "mlruns/1/x/metrics/loss"
    assert series(log, "val/accuracy").steps.tolist() == [40, 90]
    assert [event.kind for event in log.events] == [EventKind.FINISHED]
    assert log.events[0].step == 110
    assert log.started is not None
    assert log.last_written is not None
    assert 0 < log.last_written - log.started < 60
    assert 'the run is called "second run"' in log.notes


def test_parameters_are_settings_with_their_types() -> None:
    root = run_called("second run")
    held = values_of(mlflow_metric.read_bundle(root, files_of(root), "x"))
    lr = {"lr": 1e-5}
    assert held == lr | {"batch_size": 8, "clip": None, "fp16": True, "model.dim": 64, "optimizer": "adamw"}


def test_a_metric_logged_without_a_step_is_placed_by_its_time() -> None:
    root = run_called("second run")
    log = mlflow_metric.read_bundle(root, files_of(root), "x")
    (score,) = [s for s in log.series if s.logged_as == "final_score"]
    assert list(score) == [(110, 0.5)]
    assert any("placed by the time of writing: final_score" in note for note in log.notes)


def test_a_run_without_a_step_anywhere_is_counted_by_rows(tmp_path: Path) -> None:
    path = tmp_path / "metrics" / "loss"
    path.parent.mkdir()
    path.write_text("".join(f"{1633449194907 + at} {1 / (1 + at)} 0\n" for at in range(5)))
    loss = series(read_log(path), "loss")
    assert (loss.axis, loss.steps.tolist()) == ("row", [0, 1, 2, 3, 4])
    path.write_text("1633449194907 2.5\n1633449194908 2.25\n")  # as the first versions wrote
    assert series(read_log(path), "loss").values.tolist() == [2.5, 2.25]


def test_a_run_that_logged_nothing_is_refused() -> None:
    root = run_called("broken")
    with pytest.raises(UnreadableFile, match="without metrics"):
        mlflow_metric.read_bundle(root, files_of(root), "x")


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("mlruns/1/f60ab17eafd546f28a8135f8ac5b21e7/metrics/train/loss", 3),
        ("/a/f60ab17eafd546f28a8135f8ac5b21e7/metrics/loss", 3),
        ("a/f60ab17eafd546f28a8135f8ac5b21e7/params/lr", 2),
        ("a/f60ab17eafd546f28a8135f8ac5b21e7/meta.yaml", 2),
        ("mlruns/0/my-own-id/metrics/loss", 3),
        ("mlruns/0/meta.yaml", None),
        ("a/f60ab17eafd546f28a8135f8ac5b21e7/artifacts/model/train.log", None),
        ("runs/a/metrics/loss.csv", None),
        ("metrics/loss", None),
        ("loss", None),
    ],
)
def test_the_run_of_a_file_is_told_by_its_path(path: str, root: int | None) -> None:
    expected = None if root is None else Path(*Path(path).parts[:root])
    assert mlflow_metric.bundle(Path(path)) == expected


def test_odd_lines_are_passed_over_and_told(tmp_path: Path) -> None:
    path = tmp_path / "metrics" / "loss"
    path.parent.mkdir()
    lines = [f"1633449194907 {at} {at}" for at in range(60)]
    lines += ["1633449194907 1 2 train abc123", "1633449194907 1", "1633449194907 x 3", "16334491949"]
    path.write_text("\n".join(lines))
    log = read_log(path)
    assert len(series(log, "loss")) == 62
    assert log.notes == ("2 lines are no points and were passed over",)


def test_numbers_in_three_columns_are_no_metric(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("1 2 3\n4 5 6\n")
    assert not recognised(head_of(path, "data.txt"))


@settings(max_examples=60)
@given(data=st.binary(max_size=200), cut=st.integers(1, 30), sound=st.integers(0, 20))
def test_any_bytes_of_a_metric_are_borne_however_they_come(data: bytes, cut: int, sound: int) -> None:
    data = b"".join(b"16334491949%02d %d.5 %d\n" % (at, at, at) for at in range(sound)) + data
    head = head_of(run_called("second run") / "metrics" / "loss", "loss")
    whole, pieces = mlflow_metric.begin(head), mlflow_metric.begin(head)
    pour(io.BytesIO(data), whole, "loss", len(data))
    rest = b""
    for at in range(0, len(data), cut):
        rest += data[at : at + cut]
        rest = rest[pieces.take(rest, last=at + cut >= len(data)) :]
    for name in ("times", "values", "steps"):
        one, other = getattr(whole.points(), name), getattr(pieces.points(), name)
        np.testing.assert_array_equal(one, other)
    assert len(whole.points().steps) >= sound - 1


# --- the database ---------------------------------------------------------------------------------------


def recorded_database() -> bytes:
    return database_of((RECORDED / "mlflow.sql").read_text())


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "mlflow.db"
    path.write_bytes(recorded_database())
    return path


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_the_latest_run_with_metrics_is_read_and_the_others_named(database: Path) -> None:
    log = read_log(database, "mlflow.db")
    assert log.format == "MLflow database"
    loss = series(log, "loss")
    assert loss.steps.tolist() == [*range(0, 120, 10)]
    assert math.isnan(loss.values[7])
    assert list(series(log, "val/loss")) == [(40, 0.4), (90, math.inf)]
    assert [event.kind for event in log.events] == [EventKind.FINISHED]
    assert values_of(log)["lr"] == 1e-5
    (note,) = [note for note in log.notes if "latest run" in note]
    assert "second run" in note
    assert "2 other runs were not: broken" in note
    assert "first" in note


def test_the_two_stores_of_one_program_agree(database: Path) -> None:
    root = run_called("second run")
    one = mlflow_metric.read_bundle(root, files_of(root), "x")
    other = read_log(database)
    assert values_of(one) == values_of(other)
    for found in one.series:
        np.testing.assert_array_equal(found.values, series(other, found.name).values)
        np.testing.assert_array_equal(found.steps, series(other, found.name).steps)


def test_a_run_among_many_is_found_by_its_index(database: Path) -> None:
    rows = [
        f"INSERT INTO runs (run_uuid, status, start_time) VALUES ('{n}', 'RUNNING', {n})" for n in range(9)
    ]
    change(database, *rows)
    log = read_log(database)
    assert series(log, "loss").steps.tolist() == [*range(0, 120, 10)]
    assert any("11 other runs were not" in note for note in log.notes)


def test_a_deleted_run_is_not_the_latest(database: Path) -> None:
    change(database, "UPDATE runs SET lifecycle_stage = 'deleted' WHERE name = 'second run'")
    assert len(series(read_log(database), "loss")) == 20


def test_metrics_of_the_machine_are_passed_over(database: Path) -> None:
    run = "(SELECT run_uuid FROM runs WHERE name = 'second run')"
    change(
        database,
        f"INSERT INTO metrics VALUES ('system/cpu', 1, 1794746339577, {run}, 0, 0)",
        f"INSERT INTO latest_metrics VALUES ('system/cpu', 1, 1794746339577, 0, 0, {run})",
    )
    log = read_log(database)
    assert not any(s.logged_as.startswith("system") for s in log.series)
    assert any("1 metrics of the machine passed over" in note for note in log.notes)


def test_a_database_that_is_written_to_is_read_and_left_alone(database: Path) -> None:
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("UPDATE metrics SET value = 9 WHERE key = 'loss' AND step = 110")
    assert series(read_log(database), "loss").values[-1] == 9
    copy = database.parent / "copy" / "mlflow.db"
    copy.parent.mkdir()
    for ending in ("", "-wal"):  # a folder that was copied while a training ran
        (copy.parent / f"mlflow.db{ending}").write_bytes(Path(f"{database}{ending}").read_bytes())
    assert series(read_log(copy), "loss").values[-1] == 9
    assert sorted(path.name for path in copy.parent.iterdir()) == ["mlflow.db", "mlflow.db-wal"]
    writer.execute("PRAGMA journal_mode=DELETE")
    writer.execute("BEGIN EXCLUSIVE")
    assert series(read_log(database), "loss").values[-1] == 9
    writer.close()


def test_a_compressed_database_is_read(database: Path) -> None:
    packed = database.with_suffix(".db.gz")
    packed.write_bytes(gzip.compress(database.read_bytes()))
    assert len(series(read_log(packed), "loss")) == 12


def test_a_query_that_does_not_end_is_ended(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite, "QUERY_SECONDS", 0.2)
    monkeypatch.setattr(_sqlite, "INSTRUCTIONS_BETWEEN_LOOKS", 1000)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with (
        pytest.raises(UnreadableFile, match="it took too long"),
        _sqlite.opened(head_of(database, "mlflow.db")) as opened,
    ):
        opened.execute(endless).fetchone()


def test_a_view_in_place_of_a_table_is_never_run(database: Path) -> None:
    change(
        database,
        "ALTER TABLE metrics RENAME TO kept",
        "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT 'loss' AS key, i AS value, i AS timestamp, '' AS run_uuid, i AS step, 0 AS is_nan FROM n",
    )
    assert not recognised(head_of(database, "mlflow.db"))


def test_cells_of_the_wrong_kind_do_no_harm(database: Path) -> None:
    change(
        database,
        "PRAGMA ignore_check_constraints=ON",
        "UPDATE metrics SET value = 'text' WHERE key = 'loss' AND step = 20",
        "UPDATE metrics SET value = x'00ff' WHERE key = 'loss' AND step = 30",
        "UPDATE metrics SET timestamp = 1e300 WHERE key = 'loss' AND step = 50",
        "UPDATE runs SET start_time = 'soon', name = x'fffe'",
        "UPDATE params SET value = x'ff' WHERE key = 'lr'",
    )
    assert len(series(read_log(database), "loss")) > 5


def test_another_programs_database_is_named_as_such(tmp_path: Path) -> None:
    change(tmp_path / "other.db", "CREATE TABLE metrics (a)", "INSERT INTO metrics VALUES (1)")
    with pytest.raises(UnreadableFile, match="a SQLite database of no tracker"):
        read_log(tmp_path / "other.db")


@settings(max_examples=60)
@given(damage=damages)
def test_any_damage_to_a_database_is_borne(damage: Damage, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "mlflow.db"
    path.write_bytes(damage.done_to(recorded_database()))
    assert_read_or_refused(path)


@pytest.mark.corpus
def test_a_real_metric_is_read(corpus: Path) -> None:
    (path,) = corpus.glob("mlflow/*/mlruns/*/*/metrics/train/loss")
    loss = series(read_log(path), "loss")
    assert len(loss) == 29
    assert loss.steps[[0, -1]].tolist() == [1440, 21600]
