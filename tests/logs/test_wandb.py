"""W&B's files: offline runs, their damage and their growth, and the summary that a run leaves."""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, read_log, recognised, wandb_run
from stethoscope.logs._reading.stream import pour
from stethoscope.logs._wandb.frames import BLOCK
from stethoscope.logs._wandb.history import History
from stethoscope.recipe import read_settings
from stethoscope.run import Aggregation, EventKind, Log
from tests.fixtures.logs.make import HERE
from tests.logs.reading import assert_read_or_refused, series

RECORDED = HERE / "recorded" / "wandb"
RUNS = sorted(path.name for path in RECORDED.glob("*.wandb"))


def log_of(name: str) -> Log:
    return read_log(RECORDED / f"run-{name}.wandb", f"run-{name}.wandb")


def kinds(log: Log) -> list[EventKind]:
    return [event.kind for event in log.events]


# --- a run file as W&B writes it ------------------------------------------------------------------------


def sub(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def item(name: str | list[str], value: str) -> bytes:
    keys = sub(1, name.encode()) if isinstance(name, str) else b"".join(sub(2, n.encode()) for n in name)
    return sub(1, keys + sub(16, value.encode()))


def history(values: dict[str, str], step: int) -> bytes:
    return sub(2, b"".join(item(name, value) for name, value in values.items()) + item("_step", str(step)))


def printed(line: str) -> bytes:
    return sub(13, b"\x08\x01" + sub(3, line.encode()))


def framed(records: list[bytes]) -> bytes:
    out = bytearray(b":W&B\xe1\xbe\x00")
    for at, record in enumerate(records):
        left_over, first = b"\x08" + varint(at) + record, True
        while first or left_over:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                continue
            part, left_over = left_over[: left - 7], left_over[left - 7 :]
            kind = (2 if left_over else 1) if first else (3 if left_over else 4)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
    return bytes(out)


def read_bytes(tmp_path: Path, data: bytes) -> Log:
    path = tmp_path / "run-x.wandb"
    path.write_bytes(data)
    return read_log(path, "run-x.wandb")


# --- what a run file tells ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trainer", "old-trainer"])
def test_the_history_is_counted_by_the_declared_step(name: str) -> None:
    log = log_of(name)
    loss = series(log, "loss")
    assert loss.steps.tolist() == [*range(10, 401, 10)]
    assert loss.values[0] == 3.0
    assert loss.aggregation is Aggregation.WINDOW_MEAN
    assert [step for step, value in loss if math.isnan(value)] == [210]
    assert series(log, "grad_norm").values[20] == math.inf
    assert series(log, "val/loss").steps.tolist() == [100, 200, 300, 400]
    assert log.started is not None
    assert log.last_written is not None
    assert 0 < log.last_written - log.started < 60


@pytest.mark.parametrize("name", ["trainer", "old-trainer"])
def test_the_config_is_a_document_with_its_last_values(name: str) -> None:
    (document,) = log_of(name).documents
    held = {s.dotted: s.value for s in read_settings(document.text, document.file, document.syntax)}
    assert held["lr"] == 1e-5
    assert held["model.dim"] == 128
    assert held["late"] == "yes"
    assert held["betas.1"] == 0.95
    assert not any(key.startswith("_wandb") for key in held)


def test_nested_values_have_paths_and_media_are_passed_over() -> None:
    log = log_of("nested")
    assert {s.logged_as for s in log.series} == {"my/loss", "my/deep/x", "big", "_runtime"}
    (deep,) = [s for s in log.series if s.logged_as == "my/deep/x"]
    assert deep.steps.tolist() == [*range(0, 60, 5)]  # my.counter was declared
    assert deep.values[3] == -math.inf
    assert "values that are no numbers passed over: flag, h, note" in log.notes


@pytest.mark.parametrize("name", ["crash", "old-crash"])
def test_a_crash_is_told_once_with_its_message_and_step(name: str) -> None:
    log = log_of(name)
    (event,) = log.events
    assert event.kind is EventKind.DEVICE_ASSERT
    assert "device-side assert" in event.message
    assert event.step in (300, 400)  # the last row may be written after the output
    assert series(log, "loss").steps.tolist() == [0, 100, 200, 300, 400]


def test_what_a_run_without_history_printed_is_read() -> None:
    log = log_of("printed")
    assert log.format == "W&B run file"
    assert series(log, "loss").steps.tolist() == [*range(0, 300, 10)]
    assert kinds(log) == [EventKind.FINISHED]
    assert any("what the run printed was read instead, as nanoGPT log" in note for note in log.notes)
    assert len(log.documents) == 1


def test_a_resumed_run_says_so() -> None:
    log = log_of("resumed")
    assert kinds(log) == [EventKind.RESUMED, EventKind.FINISHED]
    assert series(log, "loss").steps[0] == 390


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0, EventKind.FINISHED),
        (1, EventKind.TRACEBACK),
        (255, EventKind.STOPPED_BY_USER),
        (137, EventKind.KILLED),
    ],
)
def test_an_exit_code_is_an_event(tmp_path: Path, code: int, kind: EventKind) -> None:
    rows = [history({"loss": "1"}, step) for step in (0, 7)]
    log = read_bytes(tmp_path, framed([*rows, sub(18, b"\x08" + varint(code) if code else b"")]))
    (event,) = log.events
    assert (event.kind, event.step) == (kind, 7)


def test_an_event_has_the_step_of_the_row_before_it(tmp_path: Path) -> None:
    records = [printed("Resuming from epoch 3\n")]
    for step in range(0, 50, 10):
        records.append(history({"loss": "1"}, step))
        if step == 20:
            records += [printed("OVERFLOW! Rank 0 "), printed("Skipping step.\nmore")]
    log = read_bytes(tmp_path, framed(records))
    assert [(e.kind, e.step, e.line) for e in log.events] == [
        (EventKind.RESUMED, None, 1),
        (EventKind.OVERFLOW, 20, 2),
    ]


def test_a_step_that_stands_beside_the_items_counts(tmp_path: Path) -> None:
    rows = [sub(2, item("loss", "1.5") + sub(2, b"\x08" + varint(100 * at))) for at in range(5)]
    assert series(read_bytes(tmp_path, framed(rows)), "loss").steps.tolist() == [0, 100, 200, 300, 400]


def test_values_of_their_own_type_are_read(tmp_path: Path) -> None:
    typed = [
        sub(1, sub(1, b"loss") + b"\x31" + struct.pack("<d", 0.25)),
        sub(1, sub(1, b"epoch") + b"\x28" + varint(2 * 3)),  # zigzag
        sub(1, sub(1, b"val_acc") + sub(7, b"nan")),
        sub(1, sub(1, b"flag") + b"\x20\x01"),
        sub(1, sub(1, b"eval") + sub(8, b'{"loss": 2}')),
    ]
    log = read_bytes(tmp_path, framed([sub(2, b"".join(typed) + item("_step", str(n))) for n in range(3)]))
    assert series(log, "loss").values.tolist() == [0.25] * 3
    assert series(log, "epoch").values.tolist() == [3.0] * 3
    assert np.isnan(series(log, "val/accuracy").values).all()
    assert series(log, "val/loss").values.tolist() == [2.0] * 3


def test_a_run_that_only_kept_a_summary_gives_its_last_values(tmp_path: Path) -> None:
    summary = sub(3, item("loss", "0.5") + item(["eval", "acc"], "0.9") + item("_step", "80"))
    log = read_bytes(tmp_path, framed([summary]))
    assert list(series(log, "loss")) == [(80, 0.5)]
    assert "no history: the last values are all there is" in log.notes


def test_settings_nested_beyond_reason_do_no_harm(tmp_path: Path) -> None:
    deep = sub(5, sub(1, sub(1, b"a") + sub(16, b"[" * 900 + b"]" * 900)))
    long = sub(5, sub(1, b"".join(sub(2, b"k") for _ in range(20_000)) + sub(16, b"1")))
    log = read_bytes(tmp_path, framed([deep, long, history({"loss": "1"}, 1), history({"loss": "1"}, 2)]))
    assert len(series(log, "loss")) == 2
    assert all(len(document.text) < 10_000_000 for document in log.documents)


def test_a_run_that_says_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="logged and printed nothing"):
        read_bytes(tmp_path, framed([]))


# --- damage and growth ----------------------------------------------------------------------------------


def long_run(rows: int = 3000) -> bytes:
    return framed([history({"loss": str(at / 8), "lr": "1e-4", "note": '"x"'}, at) for at in range(rows)])


def test_a_damaged_record_costs_only_itself(tmp_path: Path) -> None:
    data = bytearray(long_run())
    data[70_000] ^= 0xFF
    log = read_bytes(tmp_path, bytes(data))
    assert len(series(log, "loss")) == 2999
    assert any(note.startswith("1 damaged record skipped at byte ") for note in log.notes)


def test_a_damaged_length_costs_at_most_its_block(tmp_path: Path) -> None:
    data = bytearray(long_run())
    data[11:13] = b"\xff\xff"
    log = read_bytes(tmp_path, bytes(data))
    lost = 3000 - len(series(log, "loss"))
    assert 0 < lost < BLOCK / 60
    data[BLOCK : BLOCK + 2 * BLOCK] = bytes(2 * BLOCK)
    assert len(series(read_bytes(tmp_path, bytes(data)), "loss")) > 1000


def test_a_file_cut_at_whole_blocks_is_read_to_its_end(tmp_path: Path) -> None:
    data = long_run()[: 3 * BLOCK]
    log = read_bytes(tmp_path, data)
    assert series(log, "loss").steps[-1] > 1000
    assert any("ends in the middle of a record" in note for note in log.notes)
    zeros = read_bytes(tmp_path, data + bytes(BLOCK * 4))
    assert len(series(zeros, "loss")) == len(series(log, "loss"))


def test_a_record_over_many_blocks_is_read(tmp_path: Path) -> None:
    big = sub(2, item("loss", "2") + item("text", json.dumps("x" * 200_000)) + item("_step", "3"))
    log = read_bytes(tmp_path, framed([history({"loss": "1"}, 1), big, history({"loss": "3"}, 5)]))
    assert list(series(log, "loss")) == [(1, 1.0), (3, 2.0), (5, 3.0)]


def fed(data: bytes, sizes: list[int]) -> Log:
    """The log of bytes that come in pieces of these sizes, asked for on the way as well."""
    reading = wandb_run.begin(head_of(RECORDED / RUNS[0], "x"))
    at, rest, turn = 0, b"", 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        turn += 1
        rest += data[at : at + size]
        at += size
        rest = rest[reading.take(rest, last=at >= len(data)) :]
        if turn % 50 == 0 and reading.history.rows:
            reading.log()
    return reading.log()


def same(one: Log, other: Log) -> None:
    assert sorted(s.logged_as for s in one.series) == sorted(s.logged_as for s in other.series)
    for series_ in one.series:
        (twin,) = [s for s in other.series if s.name == series_.name]
        np.testing.assert_array_equal(series_.steps, twin.steps)
        np.testing.assert_array_equal(series_.values, twin.values)
    assert [(e.kind, e.step, e.line) for e in one.events] == [(e.kind, e.step, e.line) for e in other.events]
    assert one.documents == other.documents
    assert one.notes == other.notes


@settings(max_examples=30)
@given(name=st.sampled_from(RUNS), sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=4))
def test_a_growing_file_gives_the_same_as_a_whole_one(name: str, sizes: list[int]) -> None:
    data = (RECORDED / name).read_bytes()
    same(fed(data, [max(size, len(data) // 200) for size in sizes]), fed(data, [len(data)]))


@settings(max_examples=20)
@given(
    where=st.integers(0, 90_000), byte=st.integers(1, 255), sizes=st.lists(st.integers(500, 9000), min_size=1)
)
def test_damage_is_the_same_however_the_bytes_come(where: int, byte: int, sizes: list[int]) -> None:
    data = bytearray(long_run(1200))
    data[7 + where % (len(data) - 7)] ^= byte
    same(fed(bytes(data), sizes), fed(bytes(data), [len(data)]))


@settings(max_examples=150)
@given(
    name=st.sampled_from(RUNS),
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), max_size=6),
    sound=st.booleans(),
)
def test_any_damage_is_borne(
    name: str,
    cut: float,
    flips: list[tuple[float, int]],
    sound: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = bytearray((RECORDED / name).read_bytes())
    for where, byte in flips:
        data[7 + int(where * (len(data) - 8))] ^= byte
    data = data[: int(cut * len(data))]
    if sound:  # damage that the checksums do not show
        for at in places(data):
            length, kind = struct.unpack_from("<HB", data, at + 4)
            data[at : at + 4] = struct.pack("<I", zlib.crc32(data[at + 6 : at + 7 + length]))
            assert kind <= 255
    path = tmp_path_factory.mktemp("damaged") / "run-x.wandb"
    path.write_bytes(data)
    assert_read_or_refused(path)


def places(data: bytearray) -> list[int]:
    found, at = [], 7
    while at + 7 <= len(data):
        left = BLOCK - at % BLOCK
        length = struct.unpack_from("<H", data, at + 4)[0]
        if left < 7 or at + 7 + length > len(data):
            at += left
            continue
        found.append(at)
        at += 7 + length
    return found


@settings(max_examples=150)
@given(
    records=st.lists(st.binary(max_size=60), max_size=12), kind=st.sampled_from([2, 3, 4, 5, 12, 13, 17, 18])
)
def test_any_record_is_borne(records: list[bytes], kind: int) -> None:
    reading = wandb_run.begin(head_of(RECORDED / RUNS[0], "x"))
    data = framed([sub(kind, record) for record in records])
    pour(io.BytesIO(data), reading, "x", len(data))
    try:
        reading.log()
    except UnreadableFile:
        return


NAMES = st.sampled_from(["loss", "a", "lr", "grad/norm", "x" * 9, "y" * 130, "\u00e9t\u00e9", "val_loss"])
VALUES = st.one_of(
    st.floats(width=64).map(json.dumps),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["NaN", "-Infinity", "true", "null", '"text"', '"nan"', "[1, 2]", '{"b": 1}', '"\\u0082\\u0001"']
    ),
    st.text(max_size=300).map(json.dumps),
)
ITEMS = st.dictionaries(
    st.one_of(NAMES, st.lists(NAMES, min_size=1, max_size=3).map(tuple)), VALUES, max_size=6
)


@settings(max_examples=150)
@given(
    rows=st.lists(st.tuples(ITEMS, st.booleans(), st.randoms(use_true_random=False)), min_size=1, max_size=12)
)
def test_records_read_together_are_the_same_as_one_by_one(rows: list) -> None:  # type: ignore[type-arg]
    records = []
    for at, (held, counted, chance) in enumerate(rows):
        once = {"/".join(name) if isinstance(name, tuple) else name: name for name in held}
        items = [item([*name] if isinstance(name, tuple) else name, held[name]) for name in once.values()]
        items += [item("_step", str(at))] if counted else []
        chance.shuffle(items)
        records.append(b"".join(items) + (b"\x12\x00" if counted else sub(2, b"\x08" + varint(at))))
    together, apart = History(), History()
    together.add(records)
    for record in records:
        apart.add([record])
    one, other = together.table({}).columns(), apart.table({}).columns()
    assert one.keys() == other.keys()
    for name, column in one.items():
        for here, there in zip(column, other[name], strict=True):
            np.testing.assert_array_equal(here, there)
    assert together.passed_over == apart.passed_over


def test_keys_that_are_data_do_not_fill_the_memory(tmp_path: Path) -> None:
    rows = [history({f"k{at}-{n}": "1" for n in range(50)} | {"loss": "2"}, at) for at in range(600)]
    log = read_bytes(tmp_path, framed(rows))
    assert len(series(log, "loss")) == 600
    assert any("names; the rest was passed over" in note for note in log.notes)


# --- the summary ----------------------------------------------------------------------------------------

SUMMARY = {
    "_step": 99,
    "_runtime": 12.5,
    "_timestamp": 1.7e9,
    "_wandb": {"runtime": 12},
    "train/loss": 0.5,
    "eval": {"accuracy": 0.75},
    "best": "NaN",
    "image": {"_type": "image-file", "size": 3},
}


def test_a_summary_gives_the_last_values(tmp_path: Path) -> None:
    path = tmp_path / "wandb-summary.json"
    path.write_text(json.dumps(SUMMARY))
    log = read_log(path)
    assert log.format == "W&B summary"
    assert list(series(log, "loss")) == [(99, 0.5)]
    assert list(series(log, "val/accuracy")) == [(99, 0.75)]
    assert log.last_written == 1.7e9
    assert {s.logged_as for s in log.series} == {"train/loss", "eval/accuracy", "best"}
    assert log.notes == ("last values only: one point of each signal",)


def test_a_summary_of_another_name_is_told_by_its_own_names(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(SUMMARY))
    assert read_log(path).format == "W&B summary"
    path.write_text(json.dumps({"_step": 1, "_runtime": 2, "colour": 3}))
    assert not recognised(head_of(path, "summary.json"))


@pytest.mark.parametrize("text", ['{"_wandb": {"runtime": 0}}', "{", "[]", "", '{"_step": 1e400}'])
def test_a_summary_without_values_is_no_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wandb-summary.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile):
        read_log(path)


# --- real files -----------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "points", "first", "last", "last_step"),
    [
        ("*lf_loss0_gradnan_lr0", 21, 0.0, 10.7256, 21),
        ("*lf_loss0_gradnan_b", 33, 0.0, 10.4191, 33),
        ("*lf_loss0_alternating", 20, 0.0, 9.785, 20),
        ("*lf_loss_0_and_51", 32, 0.0, 49.2901, 32),
        ("*lf_plateau_ln32000", 121, 10.4588, 10.4624, 121),
        ("*lf_grad_3e10", 23, 13.4737, 12.9017, 23),
        ("*lf_rising_lr", 302, 4.5846, 0.0663, 3020),
        ("*pino_cp", 300, 1.94324, 0.505998, 299),
    ],
)
def test_a_real_run_gives_its_loss(
    corpus: Path, folder: str, points: int, first: float, last: float, last_step: int
) -> None:
    (path,) = corpus.glob(f"wandb/{folder}/*.wandb")
    loss = series(read_log(path), "loss")
    assert len(loss) == points
    assert loss.values[[0, -1]] == pytest.approx([first, last], rel=1e-4)
    assert loss.steps[-1] == last_step


@pytest.mark.corpus
def test_skipped_steps_of_a_real_run_show_in_its_norms(corpus: Path) -> None:
    (path,) = corpus.glob("wandb/*lf_loss0_gradnan_b/*.wandb")
    norms = series(read_log(path), "grad_norm").values
    assert int((~np.isfinite(norms)).sum()) == 14


def test_a_counter_that_begins_again_gives_way_to_the_one_of_the_logger(tmp_path: Path) -> None:
    rows, step = [], 0
    for epoch in range(3):
        for batch in range(20):
            rows.append(history({"batch": str(batch), "train/loss": "1.5"}, step))
            step += 1
        rows.append(history({"epoch": str(epoch), "val/loss": "1.25"}, step))
        step += 1
    file = tmp_path / "run-x.wandb"
    file.write_bytes(framed(rows))
    log = read_log(file, file.name)
    assert series(log, "val/loss").steps.tolist() == [20, 41, 62]
    assert len(series(log, "loss")) == 60
    assert series(log, "loss").axis == "step"
    assert len(np.unique(series(log, "loss").steps)) == 60


def test_a_counter_that_few_rows_have_gives_way_to_the_one_of_the_logger(tmp_path: Path) -> None:
    rows = [
        history({"loss": "1.5"} | ({"step": str(step // 10)} if step % 10 == 0 else {}), step)
        for step in range(60)
    ]
    file = tmp_path / "run-x.wandb"
    file.write_bytes(framed(rows))
    assert series(read_log(file, file.name), "loss").steps.tolist() == [*range(60)]
