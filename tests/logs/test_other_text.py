"""What the readers of speech, Paddle, reinforcement learning and Hugging Face consoles make of a log."""

# Lines are as long as programs print them.

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, generic_text, head_of, read_log, read_with, splice
from stethoscope.run import Aggregation, EventKind, Log
from tests.logs.reading import PRINTED, RECORDED, points, read_under_another_name, series, written

OWN = [
    (RECORDED / "hf_printed" / "both.log", "printed dict lines"),
    (RECORDED / "hf_printed" / "stdout.log", "printed dict lines"),
    (RECORDED / "hf" / "console.log", "printed dict lines"),
    (RECORDED / "stable_baselines" / "log.txt", "boxed tables"),
    (RECORDED / "lightning_bar" / "tqdm.log", "progress bar"),
    (RECORDED / "speechbrain" / "train_log.txt", "SpeechBrain log"),
    (RECORDED / "coqui" / "console.log", "Coqui trainer log"),
    (RECORDED / "espnet" / "train.log", "ESPnet log"),
    (RECORDED / "fastai" / "console.log", "fastai lists"),
    (PRINTED / "icefall.log", "icefall log"),
    (PRINTED / "vits.log", "VITS log"),
    (PRINTED / "caffe.log", "Caffe log"),
    (PRINTED / "darknet.log", "Darknet log"),
    (PRINTED / "paddleseg.log", "PaddlePaddle log"),
    (PRINTED / "paddlegan.log", "PaddlePaddle log"),
    (PRINTED / "paddledet.log", "PaddlePaddle log"),
    (PRINTED / "mlperf.log", "MLPerf log"),
    (PRINTED / "mllog.log", "MLPerf log"),
    (PRINTED / "guided_diffusion.log", "boxed tables"),
    (PRINTED / "yolo.log", "printed table"),
]


def kinds(log: Log) -> list[tuple[EventKind, int | None]]:
    return [(event.kind, event.step) for event in log.events]


@pytest.mark.parametrize(("path", "form"), OWN, ids=[f"{p.parent.name}-{p.stem}" for p, _ in OWN])
def test_a_format_is_recognised_under_any_name(path: Path, form: str, tmp_path: Path) -> None:
    read_under_another_name(path, form, tmp_path)


@pytest.mark.parametrize(("path", "form"), OWN, ids=[f"{p.parent.name}-{p.stem}" for p, _ in OWN])
def test_chunks_of_any_size_give_the_same(path: Path, form: str) -> None:
    (module,) = [module for module in formats() if form == module.FORMAT]
    data, head = path.read_bytes(), head_of(path, path.name)
    whole = module.begin(head)
    whole.take(data, True)
    pieces, rest = module.begin(head), b""
    for start in range(0, len(data), 777):
        rest += data[start : start + 777]
        rest = rest[pieces.take(rest, False) :]
    pieces.take(rest, True)
    one, other = whole.log(), pieces.log()
    assert {s.name: list(map(str, s)) for s in one.series} == {
        s.name: list(map(str, s)) for s in other.series
    }
    assert one.events == other.events
    assert one.notes == other.notes


@given(
    which=st.sampled_from(OWN),
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=12),
    swaps=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=3),
)
def test_a_log_cut_flipped_and_shuffled_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    which: tuple[Path, str],
    cut: float,
    flips: list[tuple[float, int]],
    swaps: list[tuple[int, int]],
) -> None:
    lines = which[0].read_bytes().split(b"\n")
    for one, other in swaps:
        a, b = one % len(lines), other % len(lines)
        lines[a], lines[b] = lines[b], lines[a]
    data = bytearray(b"\n".join(lines))
    for where, byte in flips:
        data[int(where * (len(data) - 1))] = byte
    path = tmp_path_factory.getbasetemp() / "mutated.log"
    path.write_bytes(data[: int(cut * len(data))])
    (module,) = [module for module in formats() if which[1] == module.FORMAT]
    for reader in (module, generic_text):
        head = head_of(path, "mutated.log")
        assert 0.0 <= reader.recognise(head) <= 1.0
        try:
            log = read_with(reader, head)
        except UnreadableFile:
            continue
        assert all(len(found.steps) == len(found.values) for found in log.series)
        assert all((np.diff(found.steps) > 0).all() for found in splice([log]).series.values())


# --- printed dicts ----------------------------------------------------------------------------------


def test_part_of_an_epoch_before_a_dict_is_no_step(tmp_path: Path) -> None:
    lines = [
        f"epoch {epoch}: {{'loss': {loss}, 'grad_norm': 0.5}}\n" for epoch, loss in ((0.5, 2.0), (1.5, 1.0))
    ]
    log = written(tmp_path, "".join(lines))
    assert log.format == "printed dict lines"
    assert {one.axis for one in log.series} == {"row"}


def test_the_bar_drawn_below_a_dict_tells_its_step() -> None:
    log = read_log(RECORDED / "hf_printed" / "both.log")
    assert [step for step, _ in points(log, "loss")] == [3, 6, 9, 12, 15, 18, 21, 24]
    assert points(log, "val/loss") == [(8, 0.693), (16, 0.6929), (24, 0.6929)]
    assert series(log, "loss").aggregation is Aggregation.WINDOW_MEAN
    assert series(log, "grad_norm").aggregation is Aggregation.INSTANT
    assert log.total_steps == 24
    assert kinds(log) == [(EventKind.FINISHED, 24)]


def test_rows_of_training_are_counted_where_no_bar_is() -> None:
    log = read_log(RECORDED / "hf_printed" / "stdout.log")
    assert series(log, "loss").axis == "row"
    assert [row for row, _ in points(log, "loss")] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [row for row, _ in points(log, "val/loss")] == [2, 5, 8]
    assert log.notes == ("the dicts tell no step and there is no bar: rows of training are counted instead",)


@pytest.mark.parametrize(
    "entry",
    [
        "{{'loss': {0}, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.1}}",
        "{{'loss': '{0}', 'grad_norm': '1.0', 'learning_rate': '1e-05', 'epoch': '0.1'}}",
        "[INFO|2024-01-01 10:00:00] trainer.py:12 >> {{'loss': {0}, 'lr': 1e-05}}",
        "2024-01-01 10:00:00,123 INFO {{'loss': np.float64({0}), 'epoch': 0.1}}",
        "{{'loss': tensor({0}, device='cuda:0'), 'epoch': 0.1}}",
    ],
)
def test_a_dict_is_read_however_it_is_printed(tmp_path: Path, entry: str) -> None:
    log = written(tmp_path, "".join(entry.format(value) + "\n" for value in ("2.5", "1.25", "nan")))
    assert log.format == "printed dict lines"
    values = series(log, "loss").values
    assert values[:2].tolist() == [2.5, 1.25]
    assert math.isnan(values[2])


def test_a_dict_that_tells_its_step_is_placed_by_it(tmp_path: Path) -> None:
    lines = (
        f"{{'loss': {3 - i}.5, 'learning_rate': 1e-05, 'global_step/max_steps': '{i * 10}/30'}}\n"
        for i in range(1, 4)
    )
    assert points(written(tmp_path, "".join(lines)), "loss") == [(10, 2.5), (20, 1.5), (30, 0.5)]


def test_an_epoch_before_a_dict_counts(tmp_path: Path) -> None:
    log = written(tmp_path, "".join(f"epoch {i}: {{'accuracy': 0.8{i}, 'f1': 0.5}}\n" for i in range(4)))
    assert series(log, "train/accuracy").axis == "epoch"
    assert points(log, "train/accuracy")[-1] == (3, 0.83)


def test_dicts_written_in_clumps_come_at_a_fixed_interval(tmp_path: Path) -> None:
    bars = "".join(f"\r {i}%|#  | {i}/100 [00:01<00:02, 9.0it/s]" for i in range(101))
    dicts = "".join(f"{{'loss': {i}.5, 'epoch': 0.{i}}}\n" for i in range(1, 11))
    log = written(tmp_path, bars + "\n" + dicts)
    assert [step for step, _ in points(log, "loss")] == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert "taken as one every 10 steps" in log.notes[0]


def test_a_loss_of_zero_that_stands_for_nan_is_noted(tmp_path: Path) -> None:
    dicts = "".join(
        f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.{i}}}\n" for i in range(4)
    )
    assert any("logging_nan_inf_filter" in note for note in written(tmp_path, dicts).notes)


def test_a_dict_of_settings_is_no_record(tmp_path: Path) -> None:
    text = "{'train': {'lr': 0.1, 'loss': 1}, 'seed': 1}\n{'lr': 0.1, 'loss': 'l1', 'epochs': 3}\n" * 3
    with pytest.raises(UnreadableFile):
        written(tmp_path, text)


# --- bars -------------------------------------------------------------------------------------------


def test_an_empty_bar_drawn_again_is_no_restart_and_validation_counts_where_it_changes() -> None:
    log = read_log(RECORDED / "lightning_bar" / "tqdm.log")
    steps = [step for step, _ in points(log, "loss")]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (2, 30)
    assert dict(points(log, "val/loss")) == {10: 0.647, 20: 0.104, 30: 0.0176}
    assert kinds(log) == [(EventKind.FINISHED, 30)]


# --- speech -----------------------------------------------------------------------------------------


def test_icefall_batches_are_counted_on_and_validation_stands_behind_them() -> None:
    log = read_log(PRINTED / "icefall.log")
    assert [step for step, _ in points(log, "loss")] == [0, 50, 100, 150, 200, 250, 300, 350, 400]
    assert points(log, "loss")[0] == (0, 2.5)
    assert points(log, "val/loss")[0] == (100, 1.645)
    assert points(log, "loss_scale")[2] == (100, 4.0)
    assert log.notes == ("batch begins again every epoch: counted on over epochs of 150",)
    assert kinds(log) == [(EventKind.CHECKPOINT, 400)]
    assert not any(math.isinf(value) for s in log.series for value in s.values)


def test_icefall_prefers_the_global_index(tmp_path: Path) -> None:
    lines = (
        f"2023-05-15 10:00:00,123 INFO [train.py:1] Epoch {1 + i // 2}, batch {i % 2 * 50}, global_batch_idx: {i * 70}, "
        f"batch size: 32, loss[loss={i}.5, over 12.00 frames. ], tot_loss[loss={i}.6, over 12.00 frames. ], lr: 1e-3\n"
        for i in range(4)
    )
    log = written(tmp_path, "".join(lines))
    assert points(log, "loss") == [(0, 0.5), (70, 1.5), (140, 2.5), (210, 3.5)]


def test_icefall_ranks_are_told_apart(tmp_path: Path) -> None:
    lines = (
        f"2023-05-15 10:00:00,123 INFO [train.py:1] ({rank}/2) Epoch 1, batch {batch}, loss[loss={batch + rank}.5, over 12.00 frames. ], "
        f"tot_loss[loss=1.6, over 12.00 frames. ], batch size: 3, lr: 1e-3\n"
        for batch in (0, 50, 100)
        for rank in (1, 0)
    )
    log = written(tmp_path, "".join(lines))
    assert points(log, "loss") == [(0, 0.5), (50, 50.5), (100, 100.5)]
    assert log.notes == ("2 ranks print into this log: the lines of rank 0 are read",)


@pytest.mark.parametrize(
    "text",
    [
        "2025-08-26 22:40:01,609 INFO [train.py:958] (0/3) Training started\nRuntimeError: icefall\nKilled\n",
        "[node01] 2025-01-09 18:28:00,123 (trainer:311) INFO: 1/200epoch started\nKilled\n",
    ],
)
def test_a_run_that_ended_before_its_first_step_says_so(tmp_path: Path, text: str) -> None:
    log = written(tmp_path, text)
    assert log.notes == ("no step line: training did not begin",)
    assert [event.kind for event in log.events] == [EventKind.KILLED]


def test_espnet_means_and_results() -> None:
    log = read_log(RECORDED / "espnet" / "train.log")
    assert points(log, "loss")[:5] == [(25, 71.087), (50, 58.13), (75, 49.176), (100, 42.616), (125, 37.602)]
    assert points(log, "val/loss") == [(100, 70.0), (200, 35.0), (300, 23.333)]
    assert points(log, "lr")[0] == (25, 1.3e-06)
    assert series(log, "loss").aggregation is Aggregation.WINDOW_MEAN


def test_speechbrain_counts_epochs() -> None:
    log = read_log(RECORDED / "speechbrain" / "train_log.txt")
    assert series(log, "loss").axis == "epoch"
    assert points(log, "loss")[:2] == [(1, 2.78), (2, 1.39)]
    assert points(log, "val/loss")[-1] == (6, 0.484)
    assert points(log, "lr")[-1] == (6, 0.64)


def test_speechbrain_counts_bars_where_it_prints_them(tmp_path: Path) -> None:
    text = ""
    for epoch in (1, 2):
        text += f"speechbrain.utils.epoch_loop - Going into epoch {epoch}\n"
        text += "".join(
            f"\r {i * 25}%|##  | {i}/4 [00:01<00:02,  4.40it/s, train_loss={9 - i}.5]" for i in range(1, 5)
        )
        text += f"\nspeechbrain.utils.train_logger - epoch: {epoch}, lr: 1.00e-03, steps: {epoch * 4} - train loss: 1.0 - valid loss: {epoch}.25, valid CER: 2.46\n"
    log = written(tmp_path, text)
    assert [step for step, _ in points(log, "loss")] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert points(log, "val/loss") == [(4, 1.25), (8, 2.25)]


def test_coqui_blocks_are_told_apart() -> None:
    log = read_log(RECORDED / "coqui" / "console.log")
    assert points(log, "loss/disc") == [(0, 3.0), (10, 2.9), (20, 2.8), (30, 2.7), (40, 2.6), (50, 2.5)]
    assert points(log, "val/loss/disc") == [(20, 2.6), (40, 2.4), (60, 2.2)]
    assert points(log, "lr")[0] == (0, 0.0002)


def test_vits_names_what_it_prints_without_names(tmp_path: Path) -> None:
    log = read_log(PRINTED / "vits.log")
    assert points(log, "loss/disc")[0] == (0, 2.5)
    assert points(log, "loss/kl")[0] == (0, 7.5)
    assert points(log, "lr")[-1] == (1000, 0.0002)
    assert kinds(log) == [(EventKind.CHECKPOINT, 1000)]
    changed = written(tmp_path, "INFO\tTrain Epoch: 1 [0%]\n" + "INFO\t[1.5, 2.5, 3.5, 7, 0.1]\n" * 3)
    assert {s.name for s in changed.series} == {"loss/0", "loss/1", "loss/2", "lr"}
    assert points(changed, "loss/2")[0] == (7, 3.5)


# --- Paddle -----------------------------------------------------------------------------------------


def test_paddle_suites_count_each_in_its_way() -> None:
    seg = read_log(PRINTED / "paddleseg.log")
    assert points(seg, "loss")[0] == (60, 2.0576)
    assert points(seg, "val/iou") == [(180, 0.3657), (360, 0.6657)]
    assert seg.total_steps == 30000
    detection = read_log(PRINTED / "paddledet.log")
    assert [step for step, _ in points(detection, "loss")] == [0, 20, 40, 60, 80, 100]


def test_paddlegan_values_beyond_all_bounds_are_values() -> None:
    log = read_log(PRINTED / "paddlegan.log")
    assert points(log, "loss")[-1] == (60, 220126996736552716516472320425984.0)
    assert points(log, "val/psnr") == [(30, 27.1011), (60, math.inf)]
    assert log.total_steps == 1_000_000


# --- older frameworks, boxes and tables -------------------------------------------------------------------


def test_caffe_says_where_its_loss_is_saturated() -> None:
    log = read_log(PRINTED / "caffe.log")
    assert points(log, "loss")[:2] == [(0, 2.5), (20, 2.0576)]
    assert points(log, "val/accuracy") == [(40, 0.1162), (100, 0.1462)]
    assert log.notes[0].startswith("the loss is 87.3365 at 2 of 6 points, first at step 80")
    assert kinds(log) == [(EventKind.CHECKPOINT, 100)]


def test_darknet_regions_without_objects_are_no_nan() -> None:
    log = read_log(PRINTED / "darknet.log")
    assert points(log, "loss")[0] == (1, 2057.601566)
    assert points(log, "val/map") == [(6, 0.553211)]
    assert not log.events
    assert all(math.isfinite(value) for s in log.series for value in s.values)


def test_mlperf_gives_epochs_and_leaves_settings_out() -> None:
    log = read_log(PRINTED / "mlperf.log")
    assert points(log, "val/accuracy") == [(1, 14.5), (2, 19.0), (3, 23.5), (4, 28.0), (5, 34.488)]
    assert {s.name for s in log.series} == {"val/accuracy"}
    assert points(read_log(PRINTED / "mllog.log"), "val/accuracy")[-1] == (4, 0.4125)


def test_a_box_is_one_step_wherever_it_stands_in_it() -> None:
    log = read_log(RECORDED / "stable_baselines" / "log.txt")
    assert points(log, "train/reward")[:2] == [(64, 25.0), (128, 30.0)]
    assert points(log, "loss")[0] == (128, 52.8)
    assert len(series(log, "loss")) == 7


def test_steps_printed_to_three_digits_are_counted_on(tmp_path: Path) -> None:
    assert [s for s, _ in points(read_log(PRINTED / "guided_diffusion.log"), "loss")] == [*range(0, 1300, 10)]

    def box(step: int) -> str:
        return f"{'-' * 25}\n| loss       | 0.5      |\n| step       | {step:<8.3g} |\n{'-' * 25}\n"

    even = written(tmp_path, "".join(map(box, range(990, 1100, 2))))
    assert [s for s, _ in points(even, "loss")][:8] == [990, 992, 994, 996, 998, 1000, 1002, 1004]
    assert "counted on by 2" in even.notes[0]
    uneven = written(tmp_path, "".join(map(box, (10, 20, 35, 1001, 1002, 1003, 1091))))
    assert [s for s, _ in points(uneven, "loss")] == [10, 20, 35, 1000, 1000, 1000, 1090]
    assert "printed to 3 digits" in uneven.notes[0]


def test_a_table_among_other_output_is_read(tmp_path: Path) -> None:
    log = read_log(PRINTED / "yolo.log")
    assert points(log, "loss/box") == [(1, 1.2), (2, 0.6), (3, 0.4)]
    assert points(log, "val/map50") == [(1, 0.511), (2, 0.521), (3, 0.531)]
    assert points(log, "val/precision")[0] == (1, 0.613)
    assert series(log, "loss/box").axis == "epoch"
    text = "loading data\n\nepoch     train_loss  valid_loss  accuracy  time    \n" + "".join(
        f"{i}         {1 / (i + 1):.6f}    0.492154    0.79{i}000  00:0{i}     \n" for i in range(4)
    )
    fastai = written(tmp_path, text + "done\n")
    assert points(fastai, "loss")[:2] == [(0, 1.0), (1, 0.5)]
    assert points(fastai, "val/accuracy")[-1] == (3, 0.793)


def test_fastai_prints_lists_without_a_terminal() -> None:
    log = read_log(RECORDED / "fastai" / "console.log")
    assert points(log, "loss")[0] == (0, 0.4206571578979492)
    assert points(log, "val/loss")[-1] == (3, 0.12331205606460571)
    assert series(log, "loss").axis == "epoch"
    assert series(log, "metric 0").values.tolist() == [0.90625, 0.96875, 1.0, 1.0]
