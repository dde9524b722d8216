"""Whatever bytes a file holds, it is read, read in part, or refused with a reason."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, head_of, read_log, read_with, recognised, splice
from stethoscope.run import Log
from tests.fixtures.logs.make import HERE, fixtures

SOON = 5.0  # seconds for three lines of megabytes; a pattern that runs wild takes minutes
SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".log", ".txt", ".out", "")
# Pieces of real formats, so that chance finds its way into every reader.
PIECES = [
    *(
        b"step,loss\n",
        b"0,1\n",
        b"1,nan\n",
        b"epoch;iter\n",
        b'{"step": 1, "loss": NaN}\n',
        b'{"a": [[1, 2], {}]}\n',
    ),
    *(
        b'{"log_history": [{"step": 1, "loss": 2}, ',
        b'[{"step": 1, "loss": 2},',
        b'{"step": 1e400, "loss": -1}\n',
    ),
    *(
        b"2024-01-01 00:00:00,000 INFO: [epoch: 1, iter: 1,000, lr:(1e-4,)] [eta: 1] l_pix: 1e-2 \n",
        b"\t # psnr: 3\n",
    ),
    *(
        b"2024-01-01 00:00:00,000 INFO: Validation a\n",
        b"2024-01-01 00:00:00,000 INFO: \n  name: a\n  train:[\n",
        b"  ]\n",
    ),
    *(
        b"iter 1: loss 2, time 3ms\n",
        b"step:1/2 train_loss:3\n",
        b"s:1 trl:2\n",
        b"step 00001 | loss: 1\n",
        b"1 val 2\n",
    ),
    *(
        b"step: 1, training_loss: 2\n",
        b"\r 1%|#| 1/9 [00:01<00:02, 1it/s, loss=2]",
        b"Traceback (most recent call last):\n",
    ),
    *(
        b'  File "a", line 1\n',
        b"\0" * 9,
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x1b[31m",
        b"999999999999999999999999",
        b"-",
        b"\n",
    ),
]


# Every log that was written or recorded for these tests.
ALL = sorted(
    str(path.relative_to(HERE))
    for path in HERE.rglob("*")
    if path.is_file() and path.suffix not in {".py", ".md", ".pyc"} and path.stat().st_size > 0
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def readable_or_refused(path: Path, data: bytes) -> Log | None:
    path.write_bytes(data)
    try:
        log = read_log(path)
    except UnreadableFile:
        return None
    for series in log.series:
        assert series.steps.dtype == np.int64
        assert len(series.steps) == len(series.values)
    for series in splice([log]).series.values():
        assert (np.diff(series.steps) > 0).all()
    return log


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), suffix=st.sampled_from(SUFFIXES))
@example(data=b"", suffix=".log")
def test_any_bytes_are_read_or_refused(folder: Path, data: bytes, suffix: str) -> None:
    readable_or_refused(folder / f"a{suffix}", data)


@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=25),
    suffix=st.sampled_from(SUFFIXES),
)
def test_any_mixture_of_formats_is_read_or_refused(folder: Path, pieces: list[bytes], suffix: str) -> None:
    readable_or_refused(folder / f"b{suffix}", b"".join(pieces))


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200), pieces=st.lists(st.sampled_from(PIECES), max_size=10))
def test_every_reader_bears_what_is_not_its_own(folder: Path, data: bytes, pieces: list[bytes]) -> None:
    path = folder / "c.log"
    path.write_bytes(b"".join(pieces) + data)
    for reader in formats():
        head = head_of(path, "c.log")
        assert 0.0 <= reader.recognise(head) <= 1.0
        with contextlib.suppress(UnreadableFile):
            assert isinstance(read_with(reader, head), Log)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(ALL),
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=8),
)
def test_a_real_log_cut_and_flipped_is_read_or_refused(
    folder: Path, name: str, cut: float, flips: list[tuple[float, int]]
) -> None:
    data = bytearray((HERE / name).read_bytes())
    for where, byte in flips:
        data[int(where * (len(data) - 1))] = byte
    readable_or_refused(folder / f"d-{Path(name).name}", bytes(data[: int(cut * len(data))]))


@pytest.mark.parametrize("name", sorted(fixtures()))
def test_half_a_log_still_gives_its_first_half(folder: Path, name: str) -> None:
    data = (HERE / name).read_bytes()
    log = readable_or_refused(folder / f"half-{name}", data[: len(data) * 2 // 3])
    assert log is not None
    assert log.points > 0


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.log", b"", "empty"),
        ("a.log", b"\x00\x01\x02" * 1000, "binary"),
        ("a.csv.gz", gzip.compress(b"name,breed\nrex,dog\n", mtime=0), "not a log format known here"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd\0\0", "zstandard archive: unpack it first"),
        (
            "events.out.tfevents.1.host.1",
            b"\x18\0\0\0\0\0\0\0",
            "TensorBoard event file without a whole record",
        ),
        ("a.txt", b"the quick brown fox\n" * 50, "not a log format known here"),
        ("requirements.txt", b"torch==2.1\nnumpy>=1.26\n", "a document, settings or source"),
        ("a.csv", b"name,breed,colour\nrex,dog,brown\n", "not a log format known here"),
        ("a.csv", b"sepal_length,sepal_width\n5.1,3.5\n4.9,3.0\n", "not a log format known here"),
        ("a.json", b'{"lr": 0.1, "epochs": 3, "loss": "l1"}', "not a log format known here"),
        (
            "a.jsonl",
            b'{"prompt": "a", "answer": "b"}\n{"prompt": "c", "answer": "d"}\n',
            "not a log format known here",
        ),
        ("train.py", b"# iter 1: loss 2.0\nprint(1)\n", "a document, settings or source"),
        (
            "README.md",
            b"    iter 0: loss 4.2, time 3ms\n    iter 10: loss 4.0, time 3ms\n",
            "a document, settings or source",
        ),
        (
            "model.txt",
            b"Sequential(\n  (0): Conv2d(3, 64, stride=1)\n  (1): ReLU()\n)\n",
            "not a log format known here",
        ),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UnreadableFile, match=words):
        read_log(tmp_path / name)
    assert not recognised(head_of(tmp_path / name, name))


def test_a_missing_file_is_refused_under_the_name_given(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"^runs/x\.log: No such file"):
        read_log(tmp_path / "x.log", "runs/x.log")


def test_utf_16_and_latin_1_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("step,loss\n0,3.5\n1,2.5\n".encode("utf-16"))
    (tmp_path / "b.log").write_bytes("entr\xe9es ignor\xe9es\niter 0: loss 3.5, time 1ms\n".encode("latin-1"))
    for name in ("a.csv", "b.log"):
        (loss,) = [s for s in read_log(tmp_path / name).series if s.name == "loss"]
        assert loss.values[0] == 3.5


@pytest.mark.parametrize(
    "tail",
    [
        "a" * 10**6,
        "a." * 10**6,
        "{a:" * 10**6,
        "1 " * 10**6,
        "1" * 10**6,
        " " * 10**6,
        "x: 1 " * 10**5,
        "[" * 10**6,
    ],
    ids=["a word", "dots", "braces", "numbers", "digits", "blanks", "pairs", "brackets"],
)
@pytest.mark.parametrize(
    "start",
    [
        "2024-01-01 00:00:00,000 INFO: [epoch: 1, iter: 1,000, lr:(1e-4,)] [eta: 1 2 3 4] l_pix: 1e-2 ",
        "iter 1: loss 2, training ",
        "step:1/2 train_loss:3 ",
        "step 00001 | loss: 1 | ",
        "\r 1%|#| 1/9 [00:01<00:02, 1it/s, loss=2, ",
        "step,loss\n1,2\n1,",
        '{"step": 1, "loss": 2}\n{"step": 2, "loss": 2}\nTraining is ',
        " iteration        5/    2048 | lm loss: 1 | ",
        "step=1, skipped=2, lr=[1e-5], ",
        '| INFO | train_inner | {"epoch": 1, "num_updates": "1", "loss": "1", ',
        "Epoch: [0][1/2]\tTime 1 (1)\tLoss 1 (1)\t",
        "Epoch(train) [1][1/2]  lr: 1  loss: 1  ",
        " iter: 1  total_loss: 1  ",
        "Epoch 1/2\n 1/2 [==] - 1s - loss: 1 ",
        "Epoch 1/2\n 1/2 ",
    ],
    ids=[
        *(
            "basicsr",
            "nanogpt",
            "modded",
            "nanochat",
            "bar",
            "csv",
            "jsonl",
            "megatron",
            "deepspeed",
            "fairseq",
        ),
        *("meters", "mmengine", "detectron2", "keras", "keras count"),
    ],
)
def test_a_line_made_to_be_slow_is_not(tmp_path: Path, start: str, tail: str) -> None:
    before = time.process_time()
    readable_or_refused(tmp_path / "a.log", (start + "1\n" + start + tail + "\n" + start + "1\n").encode())
    assert time.process_time() - before < SOON


def test_one_line_of_megabytes_is_read(tmp_path: Path) -> None:
    bar = "\rTraining:   0%|          | {0}/99999 [00:33<919:45:57, 33.11s/it, loss=11.0084, lr=1.00e-07]"
    (tmp_path / "a.log").write_text("".join(bar.format(step) for step in range(30_000)))
    assert read_log(tmp_path / "a.log").points == 60_000


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 1, "loss": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"step": 1, "loss": ' + '{"a": ' * 5_000 + "1" + "}" * 5_000 + "}",
        '{"step": 1, "loss": 1' + "0" * 5_000 + "}",
        '{"step": 1' + "0" * 30 + ', "loss": 2}',
        '{"step": -7, "loss": 2}',
        json.dumps({"step": 3, **{f"k{i}": i for i in range(20_000)}}),
    ],
    ids=["nested lists", "nested objects", "long integer", "huge step", "negative step", "many fields"],
)
def test_a_hostile_record_does_not_spoil_the_others(tmp_path: Path, line: str) -> None:
    good = "".join(f'{{"step": {step}, "loss": {step}.5}}\n' for step in range(30))
    log = readable_or_refused(tmp_path / "a.jsonl", (good + line + "\n" + good).encode())
    assert log is not None
    (loss,) = [s for s in log.series if s.name == "loss"]
    assert len(loss) >= 60


def test_a_table_of_thousands_of_columns_is_read_in_part(tmp_path: Path) -> None:
    names = ["step", "loss", *(f"c{i}" for i in range(20_000))]
    rows = [",".join(names), *(",".join(["1"] * len(names)) for _ in range(3))]
    log = readable_or_refused(tmp_path / "a.csv", "\n".join(rows).encode())
    assert log is not None
    assert any("names" in note for note in log.notes)


def test_steps_beyond_any_counter_do_not_count(tmp_path: Path) -> None:
    text = "step,loss\n" + "".join(f"{step},1\n" for step in range(50)) + "1e30,2\n-5,3\n"
    log = readable_or_refused(tmp_path / "a.csv", text.encode())
    assert log is not None
    assert log.series[0].steps.max() == 49


def test_a_log_of_nothing_but_nan_is_read(tmp_path: Path) -> None:
    log = readable_or_refused(
        tmp_path / "a.csv", b"step,loss\n" + b"".join(b"%d,nan\n" % i for i in range(9))
    )
    assert log is not None
    assert np.isnan(log.series[0].values).all()
