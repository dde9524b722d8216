"""Parquet tables, with either library that can read them, and with none."""

from __future__ import annotations

import contextlib
import io
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, parquet, read_log, recognised
from stethoscope.logs._stores.parquet_schema import leaves_of
from tests.logs.reading import RECORDED, series

EXPORT = RECORDED / "parquet" / "trackio.parquet"
LIBRARIES = ["pyarrow", "polars"]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The one library that is there."""
    name: str = request.param
    pytest.importorskip(name)
    monkeypatch.setattr(parquet, "find_spec", lambda wanted: wanted if wanted == name else None)
    return name


def written(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), path, **options)
    return path


def test_a_wide_table_is_read(tmp_path: Path, library: str) -> None:
    steps = list(range(0, 1000, 10))
    columns = {
        "_step": steps,
        "_timestamp": [1.7e9 + step for step in steps],
        "train/loss": [math.nan if step == 50 else 1 / (1 + step) for step in steps],
        "eval": [{"loss": step / 2, "note": "x"} if step % 100 == 0 else None for step in steps],
        "prompt": ["text"] * 100,
        "pixels": [[1, 2]] * 100,
    }
    log = read_log(written(tmp_path / "0000.parquet", columns))
    assert log.format == "Parquet table"
    loss = series(log, "loss")
    assert loss.steps.tolist() == steps
    assert [step for step, value in loss if math.isnan(value)] == [50]
    assert list(series(log, "val/loss"))[:2] == [(0, 0.0), (100, 50.0)]
    assert (log.started, log.last_written) == (1.7e9, 1.7e9 + 990)


def test_a_long_table_is_read(tmp_path: Path, library: str) -> None:
    rows = [
        (tag, step) for step in range(0, 50, 5) for tag in ("loss", "val/psnr") if tag == "loss" or step % 10
    ]
    columns = {
        "tag": [tag for tag, _ in rows],
        "step": [step for _, step in rows],
        "value": [step + (tag != "loss") for tag, step in rows],
    }
    log = read_log(written(tmp_path / "scalars.parquet", columns))
    assert list(series(log, "loss"))[:3] == [(0, 0.0), (5, 5.0), (10, 10.0)]
    assert [step for step, _ in series(log, "val/psnr")] == [5, 15, 25, 35, 45]


def test_values_that_are_missing_are_absent_in_both_forms(tmp_path: Path, library: str) -> None:
    wide = written(tmp_path / "w.parquet", {"step": [1, 2, 3], "loss": [1.0, None, 3.0]})
    assert series(read_log(wide), "loss").steps.tolist() == [1, 3]
    columns = {"tag": ["loss", "lr", "loss"], "step": [1, 2, 3], "value": [None, 2.0, 3.0]}
    assert list(series(read_log(written(tmp_path / "l.parquet", columns)), "loss")) == [(3, 3.0)]


def test_of_several_runs_the_last_is_read(tmp_path: Path, library: str) -> None:
    log = read_log(EXPORT)
    loss = series(log, "loss")
    assert loss.steps.tolist() == [*range(0, 150, 10)]
    assert loss.values[0] == 2.0
    assert "the last run, run-1, was read; 1 other run was not: run-0" in log.notes
    assert {s.logged_as for s in log.series} == {"train/loss", "grad/norm"}
    assert log.started is not None


def test_times_of_their_own_type_tell_when(tmp_path: Path, library: str) -> None:
    moments = [datetime(2025, 5, 1, 12, 0, second) for second in range(3)]
    log = read_log(
        written(tmp_path / "a.parquet", {"step": [1, 2, 3], "loss": [1, 2, 3], "timestamp": moments})
    )
    assert log.started is not None
    assert log.last_written == log.started + 2
    assert {s.name for s in log.series} == {"loss"}


def test_batches_are_joined(tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 7)
    columns = {"step": [*range(100)], "loss": [float(at) for at in range(100)]}
    loss = series(read_log(written(tmp_path / "a.parquet", columns, row_group_size=30)), "loss")
    np.testing.assert_array_equal(loss.values, loss.steps)
    assert len(loss) == 100


def test_a_table_that_claims_too_much_is_read_in_part(
    tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MOST_VALUES", 1000)
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 100)
    path = written(tmp_path / "a.parquet", {"step": [*range(10_000)], "loss": [0.0] * 10_000})
    log = read_log(path)
    assert 400 <= len(series(log, "loss")) <= 700
    assert any("more than 1,000 values" in note for note in log.notes)


def test_a_set_of_data_is_no_log(tmp_path: Path) -> None:
    path = written(tmp_path / "train.parquet", {"prompt": ["a"], "answer": ["b"], "length": [3]})
    assert not recognised(head_of(path, "train.parquet"))
    path = written(tmp_path / "b.parquet", {"step": [1], "a": ["x"], "b": ["y"], "c": ["z"]})
    assert not recognised(head_of(path, "b.parquet"))


def test_without_a_library_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda wanted: None)
    with pytest.raises(UnreadableFile, match=r"needs pyarrow or polars: pip install 'stethoscope\[fast\]'"):
        read_log(EXPORT)


def test_the_columns_are_known_without_a_library() -> None:
    leaves = {leaf.name: leaf.numeric for leaf in leaves_of(head_of(EXPORT, "x"))}
    assert leaves["train/loss"]
    assert leaves["step"]
    assert not leaves["run_name"]


@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=150)
@given(
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=12),
)
def test_any_damage_is_borne(
    cut: float, flips: list[tuple[float, int]], library: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(EXPORT.read_bytes())
    for where, byte in flips:
        data[4 + int(where * (len(data) - 9))] ^= byte
    if cut < 0.2:
        del data[int(5 * cut * len(data)) :]
    path = tmp_path_factory.mktemp("damaged") / "a.parquet"
    path.write_bytes(data)
    head = head_of(path, "a.parquet")
    assert 0 <= parquet.recognise(head) <= 1
    pytest.importorskip(library)
    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(UnreadableFile):
        patched.setattr(parquet, "find_spec", lambda wanted: wanted if wanted == library else None)
        parquet.read(head)


@settings(max_examples=300)
@given(footer=st.binary(max_size=80))
def test_any_footer_is_borne(footer: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "footer.parquet"
    out = io.BytesIO()
    out.write(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    path.write_bytes(out.getvalue())
    leaves_of(head_of(path, "x"))
