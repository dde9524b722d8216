"""TensorBoard event files, as PyTorch, tensorboardX and Keras write them."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, read_log, recognised
from stethoscope.logs._tensorboard.crc32c import by_distance, crc32c, crcs, masked
from stethoscope.logs.tensorboard import begin
from stethoscope.read import read
from stethoscope.run import Log, Series
from tests.logs.tensorboard_files import (
    BEGAN,
    NAME,
    RECORDED,
    VERSION,
    crc_of,
    event,
    floats,
    framed,
    held,
    recorded,
    run_of,
    simple,
    slow_read,
    tensor,
    varint,
)


def read_bytes(tmp_path: Path, data: bytes, name: str = NAME) -> Log:
    (tmp_path / name).write_bytes(data)
    return read_log(tmp_path / name, name)


def told(log: Log) -> dict[str, list[tuple[int, float]]]:
    return {series.logged_as: list(series) for series in log.series}


def same(one: dict[str, list[tuple[int, float]]], other: dict[str, list[tuple[int, float]]]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(np.array(one[tag]), np.array(other[tag]), equal_nan=True) for tag in one
    )


def named(log: Log, name: str) -> Series:
    (found,) = [series for series in log.series if series.name == name]
    return found


# --- recorded files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder", ["torch_simple", "torch_tensor", "tensorboardx", "keras/train", "keras/validation"]
)
def test_a_recorded_file_gives_what_a_plain_parse_gives(folder: str) -> None:
    path = recorded(folder)
    log = read_log(path)
    assert log.format == "TensorBoard event file"
    assert log.points > 0
    assert same(told(log), slow_read(path.read_bytes()))


def test_names_times_and_what_is_no_scalar() -> None:
    log = read_log(recorded("torch_simple"))
    assert {"loss", "lr", "grad_norm", "val/loss"} < {series.name for series in log.series}
    assert log.notes == ("not scalars, skipped: 4 histograms, 4 images",)
    assert log.started is not None
    assert log.last_written is not None
    assert BEGAN < log.started <= log.last_written
    norm = named(log, "grad_norm")
    assert np.isnan(norm.values[20])
    assert np.isinf(norm.values[21])
    steps = {
        series.logged_as: series.steps.tolist() for series in log.series if series.name.startswith("odd/")
    }
    assert steps == {"odd/negative_step": [-3], "odd/huge_step": [2**40]}


def test_numbers_of_every_type() -> None:
    log = read_log(recorded("torch_tensor"))
    typed = {
        s.logged_as.removeprefix("typed/"): s.values[0] for s in log.series if s.name.startswith("typed/")
    }
    assert typed == {
        "double": -1.25,
        "half": -1.25,
        "bfloat16": -1.25,
        "int32": 100,
        "int64": 100,
        "uint8": 100,
    }
    assert log.notes == ("not scalars, skipped: 1 tensor",)


def test_the_lines_of_add_scalars_are_told_apart() -> None:
    for folder, tag in (("torch_add_scalars", "Loss/all"), ("tensorboardx", "Loss")):
        run = read(RECORDED / folder)
        assert run.series["loss"].logged_as in {f"{tag}/train", "train/loss"}
        assert run.series["val/loss"].logged_as == f"{tag}/val"
        assert run.series["val/loss"].values[0] == np.float32(2.2)
        assert not run.unread


def test_a_folder_that_only_sounds_like_a_line_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "loss_experiment"
    folder.mkdir()
    log = read_bytes(folder, VERSION + event(1, simple("loss", 1.0)))
    assert [(series.name, series.logged_as) for series in log.series] == [("loss", "loss")]


def test_keras_counts_epochs_and_keeps_validation_apart() -> None:
    run = read(RECORDED / "keras")
    for name in ("loss", "train/accuracy", "val/loss", "val/accuracy"):
        assert run.series[name].axis == "epoch"
        assert run.series[name].steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert run.series["val/loss"].file != run.series["loss"].file
    assert run.series["evaluation_loss_vs_iterations"].axis == "step"


def test_keras_validation_is_known_by_its_tags_in_any_folder(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, recorded("keras/validation").read_bytes())
    assert named(log, "val/loss").logged_as == "epoch_loss"


def test_settings_are_documents() -> None:
    (simple_args,) = read_log(recorded("torch_simple")).documents
    assert json.loads(simple_args.text) == {"lr": 0.001, "batch_size": 8, "seed": 1, "bf16": False}
    (path,) = (RECORDED / "torch_hparams").glob("*/*tfevents*")
    hparams = read_log(path)
    (document,) = hparams.documents
    assert json.loads(document.text) == {"lr": 0.1, "layers": 4, "optimizer": "adam", "amp": 1}
    assert [series.name for series in hparams.series] == ["hparam/loss"]


def test_a_file_of_texts_alone_gives_its_settings() -> None:
    log = read_log(recorded("torch_texts"))
    table, arguments = (json.loads(document.text) for document in log.documents)
    assert table == {"gamma": 0.99, "env": "CartPole-v1", "steps": 500}
    assert arguments == {"lr": 3e-4, "layers": 12, "fp16": True, "data": "a.bin", "clip": 1.0}
    assert log.notes == ("not scalars, skipped: 1 text",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Namespace(lr=0.1, betas=(0.9, 0.99), act=ReLU())",
            {"lr": 0.1, "betas": "(0.9, 0.99)", "act": "ReLU()"},
        ),
        ("{'lr': 0.1, 'name': 'a', 'clip': None}", {"lr": 0.1, "name": "a", "clip": None}),
        ("```json\n" + '{"a": 1, "b": 2, "c": {"d": 3}}' + "\n```", {"a": 1, "b": 2, "c": {"d": 3}}),
    ],
)
def test_settings_printed_by_python_are_parsed_and_not_run(
    tmp_path: Path, text: str, expected: dict[str, object]
) -> None:
    words = tensor("args/text_summary", b"\x08\x07" + held(8, text.encode()), "text")
    (document,) = read_bytes(tmp_path, VERSION + event(0, words)).documents
    assert json.loads(document.text) == expected


def test_yaml_stays_as_it_was_written(tmp_path: Path) -> None:
    text = "model:\n  depth: 4\nlr: 1e-4\nseeds:\n- 1\n- 2\n"
    words = tensor("config", b"\x08\x07" + held(8, text.encode()), "text")
    (document,) = read_bytes(tmp_path, VERSION + event(0, words)).documents
    assert (document.syntax, document.text) == ("yaml", text)


def test_a_file_that_holds_only_its_first_event_is_refused() -> None:
    (path,) = (RECORDED / "torch_hparams").glob("*tfevents*")
    assert recognised(head_of(path, path.name))
    with pytest.raises(UnreadableFile, match="a TensorBoard event file without a scalar"):
        read_log(path)


# --- names and axes ---------------------------------------------------------------------------------


def test_what_megatron_logs_against_samples_is_no_rival_of_the_loss(tmp_path: Path) -> None:
    records = [VERSION]
    for step in range(1, 30):
        for suffix, at in (("", step), (" vs samples", 512 * step), (" vs tokens", 512 * 2048 * step)):
            for tag in ("lm-loss-training/lm loss", "learning-rate/learning-rate"):
                records.append(event(at, tensor(tag + suffix, floats(1 / step))))
    log = read_bytes(tmp_path, b"".join(records))
    assert named(log, "loss").steps[-1] == 29
    assert named(log, "lr").steps[-1] == 29
    axes = {series.logged_as: (series.name, series.axis) for series in log.series}
    assert axes["lm-loss-training/lm loss vs samples"] == ("lm-loss-training/lm loss vs samples", "samples")
    assert axes["learning-rate/learning-rate vs tokens"][1] == "tokens"


def test_an_opponent_is_no_axis(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, VERSION + event(3, simple("win_rate_vs_random", 0.5)))
    assert [(series.name, series.axis) for series in log.series] == [("win_rate_vs_random", "step")]


def test_deepspeed_counts_samples(tmp_path: Path) -> None:
    records = [
        event(64 * step, simple(f"Train/Samples/{tag}", 1.0))
        for step in range(1, 9)
        for tag in ("train_loss", "lr", "loss_scale")
    ]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert [(s.name, s.axis) for s in log.series] == [(n, "samples") for n in ("loss", "lr", "loss_scale")]


def test_a_value_that_repeats_its_step_names_the_axis(tmp_path: Path) -> None:
    records = [
        event(
            4 * tick, simple("Progress/kimg", 4 * tick + 0.032), simple("Loss/G/loss", 1.0), wall=float(tick)
        )
        for tick in range(20)
    ]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert {series.axis for series in log.series} == {"kimg"}
    # StyleGAN's wall times are seconds since the start.
    assert (log.started, log.last_written) == (BEGAN, BEGAN + 19)


# --- encodings --------------------------------------------------------------------------------------


def encodings() -> dict[str, bytes]:
    one, scalar = 2.5, held(2, b"")
    dim = held(2, held(2, b"\x08\x01"))
    return {
        "content": b"\x08\x01" + scalar + held(4, struct.pack("<f", one)),
        "double content": b"\x08\x02" + scalar + held(4, struct.pack("<d", one)),
        "double": b"\x08\x02" + scalar + held(6, struct.pack("<d", one)),
        "float of shape 1": b"\x08\x01" + dim + held(5, struct.pack("<f", one)),
        "float, not packed": b"\x08\x01" + b"\x2d" + struct.pack("<f", one),
        "half content": b"\x08\x13" + held(4, np.float16(one).tobytes()),
        "half": b"\x08\x13" + held(13, varint(int(np.float16(one).view(np.uint16)))),
        "bfloat16": b"\x08\x0e" + held(13, varint(int(np.float32(one).view(np.uint32)) >> 16)),
        "bfloat16 content": b"\x08\x0e" + held(4, np.float32(one).tobytes()[2:]),
    }


@pytest.mark.parametrize("count", [3, 400], ids=["one by one", "in bulk"])
def test_every_encoding_of_a_float(tmp_path: Path, count: int) -> None:
    records = [
        event(step, tensor(name, content)) for step in range(count) for name, content in encodings().items()
    ]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert len(log.series) == len(encodings())
    for series in log.series:
        assert series.steps.tolist() == list(range(count)), series.logged_as
        assert (series.values == 2.5).all(), series.logged_as


@pytest.mark.parametrize("count", [2, 40], ids=["one by one", "in bulk"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x08\x03" + held(7, varint(300)), 300),
        (b"\x08\x03" + held(7, varint(-7)), -7),
        (b"\x08\x09" + held(10, varint(2**50)), 2**50),
        (b"\x08\x09" + held(4, struct.pack("<q", -(2**40))), -(2**40)),
        (b"\x08\x06" + held(4, b"\xff"), -1),
        (b"\x08\x17" + held(17, varint(2**63)), 2.0**63),
        (b"\x08\x0a" + held(11, b"\x01"), 1),
        (b"\x08\x01" + held(2, b""), 0),
    ],
    ids=["int", "negative", "int64", "int64 content", "int8", "uint64", "bool", "zero left out"],
)
def test_every_encoding_of_a_whole_number(
    tmp_path: Path, count: int, content: bytes, expected: float
) -> None:
    log = read_bytes(tmp_path, VERSION + b"".join(event(9, tensor("n", content)) for _ in range(count)))
    assert log.series[0].values.tolist() == [float(expected)] * count


def test_tensors_that_are_no_scalars_are_counted(tmp_path: Path) -> None:
    three = held(2, held(2, b"\x08\x03"))
    contents = (
        ("vector", b"\x08\x01" + three + held(4, bytes(12)), ""),
        ("curve", floats(1.0), "pr_curves"),
        ("unknown rank", b"\x08\x01" + held(2, b"\x18\x01") + held(5, bytes(4)), ""),
        ("complex", b"\x08\x08" + held(4, bytes(8)), ""),
    )
    values = [tensor(*content) for content in contents]
    log = read_bytes(tmp_path, VERSION + event(1, *values, simple("loss", 1.0)))
    assert told(log) == {"loss": [(1, 1.0)]}
    assert log.notes == ("not scalars, skipped: 3 tensors, 1 pr_curves",)


def test_events_with_several_values_in_bulk(tmp_path: Path) -> None:
    records = [
        event(step, simple("a", step), simple("b", -step), tensor("c", floats(step / 2)))
        for step in range(100)
    ]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert told(log) == {
        "a": [(step, step) for step in range(100)],
        "b": [(step, -step) for step in range(100)],
        "c": [(step, step / 2) for step in range(100)],
    }


def test_steps_stay_in_the_order_written(tmp_path: Path) -> None:
    steps = [*range(300), *range(250, 400), -1, 2**40, 5]
    log = read_bytes(tmp_path, VERSION + b"".join(event(step, simple("loss", step)) for step in steps))
    assert log.series[0].steps.tolist() == steps
    assert log.series[0].values.tolist() == [float(np.float32(step)) for step in steps]


def test_very_many_tags_of_one_length(tmp_path: Path) -> None:
    records = [event(step, simple(f"layer_{tag:04}", tag + step)) for step in range(3) for tag in range(1500)]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert same(told(log), slow_read(VERSION + b"".join(records)))
    assert len(log.series) == 1500


def test_more_names_than_a_log_has_are_refused(tmp_path: Path) -> None:
    records = [event(tag, simple(f"{tag}", 1.0)) for tag in range(5_300)]
    log = read_bytes(tmp_path, VERSION + b"".join(records))
    assert len(log.series) == 5_000
    assert log.notes == ("more than 5000 names; 300 values of the rest passed over",)


# --- recognition ------------------------------------------------------------------------------------


def test_an_event_file_is_known_by_its_content(tmp_path: Path) -> None:
    data = b"".join(run_of(2, 20))
    assert read_bytes(tmp_path, data, "metrics.bin").points == 40
    assert read_bytes(tmp_path, gzip.compress(data), f"{NAME}.gz").points == 40


def test_other_tfrecords_are_no_event_files(tmp_path: Path) -> None:
    example = framed(held(1, held(1, held(1, b"image") + held(2, held(1, held(1, bytes(50)))))))
    (tmp_path / "train.tfrecord").write_bytes(example * 20)
    assert not recognised(head_of(tmp_path / "train.tfrecord", "train.tfrecord"))


# --- checksums --------------------------------------------------------------------------------------


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert masked(crc32c(b"abc")) == crc_of(b"abc")


def test_checksums_in_bulk_equal_those_one_by_one() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8)
    starts = np.array([0, 5, 100, 40, 7, 900, 0])
    lengths = np.array([1, 3, 64, 65, 128, 1000, 3000])
    expected = [crc32c(noise[s : s + n].tobytes()) for s, n in zip(starts, lengths, strict=True)]
    assert crcs(noise, starts, lengths).tolist() == expected
    assert by_distance(100).shape == (128, 256)


# --- a file that grows ------------------------------------------------------------------------------


def test_a_growing_file_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(VERSION)
    reading = begin(head_of(path, NAME))
    records = run_of(3, 60)
    whole, half = b"".join(records), len(b"".join(records)) // 2 + 5
    taken = reading.take(whole[:half], False)
    assert taken <= half
    first = reading.log()
    assert not first.notes
    assert 0 < first.points < 180
    assert reading.take(whole[taken:half], True) == 0
    assert reading.log().notes == (f"the last record is cut short ({half - taken} bytes)",)
    assert reading.take(whole[taken:], True) == len(whole) - taken
    log = reading.log()
    assert not log.notes
    assert same(told(log), slow_read(whole))


# --- real files -------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_every_real_event_file_gives_what_a_plain_parse_gives(corpus: Path) -> None:
    paths = sorted(corpus.rglob("*tfevents*"))
    for path in paths:
        log = read_log(path)
        assert same(told(log), slow_read(path.read_bytes())), path
        assert any(s.name.startswith(("loss", "val/", "train/")) for s in log.series), path
    print(f"{len(paths)} event files read")


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        (["data/loss", "data/val_loss", "data/acc"], ["loss", "val/loss", "train/accuracy"]),
        (["exp1/train/loss", "exp1/val/loss", "exp1/lr"], ["loss", "val/loss", "lr"]),
        (["gen/loss", "disc/loss"], ["loss/gen", "loss/disc"]),
        (["data/loss", "physics/loss"], ["loss/data", "loss/physics"]),
        (["info/loss", "loss"], ["loss/info", "loss"]),
        (["loss", "encoder/grad_norm"], ["loss", "grad_norm/encoder"]),
    ],
)
def test_a_namespace_is_no_part_of_a_name(tmp_path: Path, tags: list[str], names: list[str]) -> None:
    file = tmp_path / "events.out.tfevents.1.a"
    events = [event(at, *(simple(tag, 1.0) for tag in tags)) for at in range(1, 6)]
    file.write_bytes(b"".join(events))
    assert [series.name for series in read_log(file, "a").series] == names
