"""The flight record is read like any log: while it grows, after a crash, and whatever was done to it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.guard.happening import Kind
from stethoscope.logs import flight_events, read_log
from stethoscope.logs.following import Follower
from stethoscope.read import read
from stethoscope.run import Aggregation, EventKind, Log
from stethoscope.run.flight_record import MAGIC, ROW, Schema, framed, packed_frame, row_packer, schema_frame
from tests.logs.reading import RECORDED, points, read_under_another_name, series

HOME = RECORDED / "flight_record"
(RECORD,) = HOME.glob("*.frec")
(EVENTS,) = HOME.glob("*.jsonl")


def row(schema: Schema, number: int, step: int, *values: float) -> bytes:
    return packed_frame(row_packer(schema).pack(ROW, number, step, 1.78e9 + step, *values))


def begun(*schemas: Schema) -> bytes:
    return MAGIC + b"".join(schema_frame(number, schema) for number, schema in enumerate(schemas))


def written(tmp_path: Path, data: bytes, name: str = "flight-x-rank0.frec") -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


LOSS = Schema(("loss",))


def test_a_record_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    read_under_another_name(RECORD, "flight record", tmp_path)


def test_each_step_is_a_point_of_each_column() -> None:
    log = read_log(RECORD)
    loss = series(log, "loss")
    assert loss.steps.tolist() == list(range(60))
    assert loss.values[0] == 2.5
    assert (loss.axis, loss.aggregation) == ("step", Aggregation.INSTANT)
    assert log.total_steps == 60
    assert log.started is not None
    assert log.last_written == pytest.approx(log.started + 59 * 0.25, abs=1.0)
    assert log.notes == ()


def test_a_nan_that_was_seen_is_read_and_one_that_was_not_measured_is_no_point() -> None:
    log = read_log(RECORD)
    assert math.isnan(series(log, "loss").values[41])
    assert series(log, "grad_norm").values[41] == math.inf
    assert [step for step, _ in points(log, "update_ratio")] == [0, 10, 20, 30, 40, 50]


def test_a_column_that_begins_later_has_its_own_steps() -> None:
    log = read_log(RECORD)
    assert series(log, "loss/ssim").steps.tolist() == list(range(20, 60))
    assert len(series(log, "lr")) == 60


def test_rows_of_two_schemas_keep_their_order(tmp_path: Path) -> None:
    both = Schema(("lr", "loss"))
    data = begun(LOSS, both) + b"".join(
        row(LOSS, 0, step, 1.0) if step % 2 else row(both, 1, step, 0.5, 2.0) for step in range(10)
    )
    log = read_log(written(tmp_path, data))
    assert points(log, "loss") == [(step, 1.0 if step % 2 else 2.0) for step in range(10)]
    assert [step for step, _ in points(log, "lr")] == [0, 2, 4, 6, 8]


def test_a_number_given_to_another_schema_means_that_one_from_there_on(tmp_path: Path) -> None:
    other = Schema(("lr",))
    data = begun(LOSS) + row(LOSS, 0, 0, 1.0) + schema_frame(0, other) + row(other, 0, 1, 2.0)
    log = read_log(written(tmp_path, data + schema_frame(0, LOSS) + row(LOSS, 0, 2, 3.0)))
    assert points(log, "loss") == [(0, 1.0), (2, 3.0)]
    assert points(log, "lr") == [(1, 2.0)]


def test_a_part_of_the_loss_is_named_as_other_logs_name_it(tmp_path: Path) -> None:
    names = ("loss", "loss/l_g_ssim", "loss/total", "loss/a\nb", "loss/\u00fc\U0001f600", "input")
    schema = Schema(names)
    log = read_log(
        written(tmp_path, begun(schema) + row(schema, 0, 0, *range(6)) + row(schema, 0, 1, *range(6)))
    )
    named = {one.logged_as: one.name for one in log.series}
    assert named["loss"] == "loss"
    assert named["loss/l_g_ssim"] == "loss/ssim"
    assert named["loss/total"] == "loss/total"
    assert named["input"] == "input"
    assert len(set(named.values())) == len(names)


# --- cut and damaged ----------------------------------------------------------------------------------


def test_a_record_that_was_cut_is_read_to_its_last_whole_row(tmp_path: Path) -> None:
    data = begun(LOSS) + row(LOSS, 0, 0, 1.0) + row(LOSS, 0, 1, 2.0)
    log = read_log(written(tmp_path, data[:-3]))
    assert points(log, "loss") == [(0, 1.0)]
    assert log.notes == ("the last row is cut short (27 bytes): the program was stopped as it wrote",)


def test_nothing_behind_a_damaged_frame_is_believed(tmp_path: Path) -> None:
    rows = [row(LOSS, 0, step, 1.0) for step in range(100)]
    rows[60] = rows[60][:-1] + b"\x7f"
    log = read_log(written(tmp_path, begun(LOSS) + b"".join(rows)))
    assert series(log, "loss").steps.tolist() == list(range(60))
    (note,) = log.notes
    assert "a frame whose checksum is wrong; the 1,200 bytes from there on are not believed" in note


def test_a_tail_of_zeros_is_noted(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, begun(LOSS) + row(LOSS, 0, 0, 1.0) + b"\0" * 4096))
    assert points(log, "loss") == [(0, 1.0)]
    assert len(log.notes) == 1


def test_rows_that_nothing_describes_are_passed_over(tmp_path: Path) -> None:
    wide = Schema(("a", "b"))
    data = begun(LOSS) + row(wide, 0, 0, 1.0, 2.0) + row(LOSS, 7, 0, 1.0) + row(LOSS, 0, 1, 4.0)
    data += framed(1, 9, b"no schema") + framed(200, 0, b"of a later version")
    log = read_log(written(tmp_path, data))
    assert points(log, "loss") == [(1, 4.0)]
    assert log.notes == ("3 frames that nothing describes were passed over",)


@pytest.mark.parametrize("data", [b"", b"FREC", b"something else", MAGIC, begun(LOSS), begun(Schema(()))])
def test_a_record_without_a_step_is_refused_with_the_reason(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"flight-x-rank0\.frec: .*flight record"):
        read_log(written(tmp_path, data))


def test_large_facts_do_not_hide_what_the_file_is(tmp_path: Path) -> None:
    about = Schema((), about={"facts": {"text": "step,loss\n1,2\n" * 20_000}})
    data = (
        MAGIC + schema_frame(0, about) + schema_frame(1, LOSS) + row(LOSS, 1, 0, 1.0) + row(LOSS, 1, 1, 1.0)
    )
    assert read_log(written(tmp_path, data, "x.csv")).format == "flight record"


def test_a_thousand_columns_are_read(tmp_path: Path) -> None:
    wide = Schema(tuple(f"loss/part {number}" for number in range(1000)))
    data = begun(wide) + b"".join(row(wide, 0, step, *([float(step)] * 1000)) for step in range(5))
    log = read_log(written(tmp_path, data))
    assert len(log.series) == 1000
    assert all(one.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] for one in log.series)


def test_of_too_many_names_the_first_are_kept(tmp_path: Path) -> None:
    wide = Schema(tuple(f"x{number}" for number in range(6000)))
    log = read_log(written(tmp_path, begun(wide) + row(wide, 0, 0, *([1.0] * 6000))))
    assert len(log.series) == 5000
    assert log.notes == ("more than 5000 names; the rest was passed over",)


PIECES = [MAGIC, schema_frame(0, LOSS), row(LOSS, 0, 1, 1.0), schema_frame(0, Schema(("a", "a"))), b"\0" * 12]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=60)), max_size=12), st.booleans())
def test_whatever_bytes_follow_it_is_read_or_refused(
    tmp_path: Path, parts: list[bytes], proper: bool
) -> None:
    path = written(tmp_path, (MAGIC if proper else b"") + b"".join(parts))
    try:
        log = read_log(path)
    except UnreadableFile:
        return
    assert all(len(one.steps) == len(one.values) for one in log.series)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(EVENTS.read_bytes().splitlines(True)))))
def test_whatever_lines_follow_they_are_read_or_refused(tmp_path: Path, parts: list[bytes]) -> None:
    path = written(tmp_path, b'{"flight_record":1,"kind":"started"}\n' + b"".join(parts), "e.jsonl")
    assert read_log(path).format == "flight record events"


# --- growing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 63, 1000])
def test_a_growing_record_gives_whole_rows_only(size: int, tmp_path: Path) -> None:
    data = RECORD.read_bytes()
    path = tmp_path / RECORD.name
    path.touch()
    follower, steps = Follower(path), 0
    for at in range(0, len(data), size):
        with path.open("ab") as stream:
            stream.write(data[at : at + size])
        if size > 1 or at % 50 == 0:
            log = follower.poll()
            if log is not None:
                assert log.notes == ()
                assert len(series(log, "loss")) >= steps
                steps = len(series(log, "loss"))
    follower.poll()
    whole = read_log(path)
    np.testing.assert_array_equal(series(whole, "loss").values, series(read_log(RECORD), "loss").values)


def test_a_length_that_shows_before_its_bytes_is_waited_for(tmp_path: Path) -> None:
    first, second = row(LOSS, 0, 0, 1.0), row(LOSS, 0, 1, 2.0)
    path = written(tmp_path, begun(LOSS) + first + b"\0" * len(second))
    follower = Follower(path)
    log = follower.poll()
    assert log is not None
    assert points(log, "loss") == [(0, 1.0)]
    with path.open("r+b") as stream:
        stream.seek(-len(second), 2)
        stream.write(second)
    log = follower.poll()
    assert log is not None
    assert points(log, "loss") == [(0, 1.0), (1, 2.0)]


# --- events -------------------------------------------------------------------------------------------


def events_of(tmp_path: Path, *lines: str) -> Log:
    first = '{"flight_record":1,"kind":"started","wall":1785320102.5,"rank":0}'
    return read_log(written(tmp_path, "\n".join([first, *lines, ""]).encode(), "flight-x-rank0.events.jsonl"))


def test_what_happened_is_an_event_with_its_line_and_step(tmp_path: Path) -> None:
    log = events_of(
        tmp_path,
        '{"kind":"non-finite-loss","step":3,"seen":"The loss is NaN."}',
        '{"kind":"rewound","step":9,"seen":"Went back to step 4."}',
        '{"kind":"finished","step":20,"seen":"the program ended without an error"}',
    )
    assert [(one.kind, one.line, one.step) for one in log.events] == [
        (EventKind.STARTED, 1, None),
        (EventKind.RESUMED, 3, 9),
        (EventKind.FINISHED, 4, 20),
    ]
    assert log.events[1].message == "Went back to step 4."
    assert (log.series, log.started) == ((), 1785320102.5)


def test_a_checkpoint_that_was_saved_is_an_event_with_its_step(tmp_path: Path) -> None:
    log = events_of(tmp_path, '{"kind":"checkpoint-saved","step":500,"seen":"Saved model_500.pt."}')
    saved = log.events[-1]
    assert (saved.kind, saved.step, saved.message) == (EventKind.CHECKPOINT, 500, "Saved model_500.pt.")


def test_a_stop_by_guard_says_why_in_whole_sentences(tmp_path: Path) -> None:
    why, more = "6 steps in a row were skipped." + " Each of them is bad." * 12, " Before that: " + "x" * 99
    said = f"Guard stopped the training at step 205. {why}{more}."
    log = events_of(tmp_path, f'{{"kind":"stopped","step":206,"seen":"{said}"}}', '{"kind":"stopped"}')
    first, second = log.events[-2:]
    assert (first.kind, first.step) == (EventKind.STOPPED_BY_GUARD, 206)
    assert first.message == why
    assert (second.kind, second.message) == (EventKind.STOPPED_BY_GUARD, "stopped")


def test_a_record_that_goes_on_from_a_checkpoint_says_where(tmp_path: Path) -> None:
    first = '{"flight_record":1,"kind":"started","wall":1785320102.5,"facts":{"resumed_at":500}}\n'
    log = read_log(written(tmp_path, first.encode(), "x.jsonl"))
    assert [(one.kind, one.step) for one in log.events] == [(EventKind.RESUMED, 500)]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("ValueError: bad", EventKind.TRACEBACK),
        ("KeyboardInterrupt", EventKind.STOPPED_BY_USER),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", EventKind.OUT_OF_MEMORY),
        ("OSError: [Errno 28] No space left on device", EventKind.DISK_FULL),
    ],
)
def test_the_words_of_an_exception_say_what_ended_the_program(
    message: str, kind: EventKind, tmp_path: Path
) -> None:
    log = events_of(tmp_path, f'{{"kind":"failed","step":7,"seen":"{message}"}}')
    assert (log.events[-1].kind, log.events[-1].message, log.events[-1].step) == (kind, message, 7)


def test_lines_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    log = events_of(tmp_path, "[1]", "", "half a li", '{"kind":"finished"}')
    assert log.events[-1].kind is EventKind.FINISHED
    assert "2 lines are not JSON objects and were passed over" in log.notes


def test_what_guard_tells_of_keeps_the_names_that_are_read() -> None:
    # What Guard's own kinds do not name, the recorder writes itself.
    recorders = {"started", "resumed", "checkpoint-saved", "finished", "failed"}
    assert {*flight_events.EVENTS} - recorders <= {str(kind) for kind in Kind}


# --- several records ----------------------------------------------------------------------------------


def record(home: Path, stamp: str, steps: range, rank: int = 0, shift: float = 0.0) -> None:
    start = 1.78e9 + (0 if stamp.endswith("1") else 5000)
    about = Schema(("loss", "lr"), about={"start": start, "rank": rank})
    rows = (
        packed_frame(row_packer(about).pack(ROW, 0, step, start + step, 2.0 / (1 + step) + shift, 0.1))
        for step in steps
    )
    (home / f"flight-{stamp}-rank{rank}.frec").write_bytes(MAGIC + schema_frame(0, about) + b"".join(rows))


def test_the_record_of_the_first_rank_speaks_for_all(tmp_path: Path) -> None:
    for rank in range(3):
        record(tmp_path, "1", range(100), rank, shift=rank)
    run = read(tmp_path)
    assert run.series["loss"].values.tolist() == pytest.approx(
        [2.0 / (1 + step) for step in range(100)], rel=1e-6
    )
    assert len(run.series["loss"]) == 100
    assert run.unread == ()


def test_a_run_that_was_killed_and_resumed_is_one_run(tmp_path: Path) -> None:
    record(tmp_path, "1", range(100))
    record(tmp_path, "2", range(80, 200), shift=0.001)
    run = read(tmp_path)
    assert run.series["loss"].steps.tolist() == list(range(200))
    assert run.series["loss"].values[90] == pytest.approx(2.0 / 91 + 0.001, rel=1e-6)
    assert len(run.segments) == 2
    assert any(one.name == "loss" and one.steps.tolist() == list(range(80, 100)) for one in run.abandoned)


def test_a_table_beside_the_record_adds_what_only_it_knows(tmp_path: Path) -> None:
    record(tmp_path, "1", range(200))
    lines = [f"{step + 1},{2.0 / (1 + step):.4f},{3.0 / (1 + step):.4f}" for step in range(9, 200, 10)]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,train_loss,val_loss", *lines, ""]))
    run = read(tmp_path)
    assert len(run.series["loss"]) == 200
    assert len(run.series["val/loss"]) == 20
    assert run.unread == ()
