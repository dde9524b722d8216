"""The text logs of training frameworks: exact points under the right names, whatever the file is called."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, head_of, read_log
from stethoscope.logs._reading.scaler_messages import scales_in
from stethoscope.logs._reading.stream import begun
from stethoscope.run import Aggregation, EventKind, Log

TEXT = Path(__file__).parent.parent / "fixtures" / "logs" / "text"

FORMATS = {
    "deepspeed_chat.log": "DeepSpeed log",
    "deepspeed_unfused.log": "DeepSpeed log",
    "deepspeed_zero.log": "DeepSpeed log",
    "detectron2.log": "detectron2 log",
    "detr.log": "MetricLogger log",
    "fairseq_json.log": "fairseq log",
    "fairseq_text.log": "fairseq log",
    "gpt_neox.log": "Megatron log",
    "imagenet_example.log": "AverageMeter log",
    "keras2_bar.log": "Keras progress",
    "keras_bar.log": "Keras progress",
    "keras_lines.log": "Keras progress",
    "maskrcnn_benchmark.log": "detectron2 log",
    "megatron_core.log": "Megatron log",
    "megatron_lm.log": "Megatron log",
    "mmcv.log": "MMEngine log",
    "mmengine_epoch.log": "MMEngine log",
    "mmengine_iter.log": "MMEngine log",
    "nnunet_v1.txt": "nnU-Net log",
    "nnunet_v2.txt": "nnU-Net log",
    "swin.log": "Swin log",
    "swin_without_amp.log": "Swin log",
    "timm_train.log": "timm log",
    "torchtitan.log": "torchtitan log",
    "torchtitan_losses.txt": "torchtitan log",
    "torchvision_classification.log": "MetricLogger log",
    "transformer_xl.log": "Transformer-XL log",
    "word_language_model.log": "Transformer-XL log",
}


def points(log: Log, name: str) -> list[tuple[int, float]]:
    (found,) = [series for series in log.series if series.name == name]
    return list(found)


def kinds(log: Log) -> list[EventKind]:
    return [event.kind for event in log.events]


def read(name: str) -> Log:
    return read_log(TEXT / name, name)


def curve(step: float) -> float:
    return 2 + 8 * math.exp(-step / 20)


# --- every format -----------------------------------------------------------------------------------


def test_every_file_here_is_expected() -> None:
    assert {path.name for path in TEXT.iterdir()} == {*FORMATS, "README.md"}


@pytest.mark.parametrize(("name", "expected"), sorted(FORMATS.items()))
def test_a_log_is_recognised_by_its_content(tmp_path: Path, name: str, expected: str) -> None:
    path = tmp_path / "x.log"
    shutil.copy(TEXT / name, path)
    assert read_log(path).format == expected


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_one_format_alone_is_surest(name: str) -> None:
    head = head_of(TEXT / name, name)
    sureness = sorted((reader.recognise(head) for reader in formats()), reverse=True)
    assert sureness[0] > sureness[1]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_series_says_where_it_stands(name: str) -> None:
    for series in read(name).series:
        assert series.file == name
        assert series.lines is not None
        assert 0 < series.lines[0] <= series.lines[1]


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(max_examples=20)
@given(data=st.data())
def test_a_damaged_log_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    raw = bytearray((TEXT / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path = tmp_path_factory.mktemp("damaged") / "x.log"
    path.write_bytes(bytes(raw))
    try:
        log = read_log(path)
    except UnreadableFile:
        return
    assert all(len(series.steps) == len(series.values) for series in log.series)


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_the_size_of_the_pieces_does_not_matter(name: str, size: int) -> None:
    head = head_of(TEXT / name, name)
    reader = max(formats(), key=lambda reader: reader.recognise(head))
    raw = (TEXT / name).read_bytes()
    reading, rest = begun(reader, head), b""
    for at in range(0, len(raw), size):
        rest += raw[at : at + size]
        rest = rest[reading.take(rest, False) :]
    reading.take(rest, True)
    assert told(reading.log()) == told(read(name))


def told(log: Log) -> str:
    """All that a log holds, as text: there, one NaN equals another."""
    series = sorted((s.name, s.axis, s.lines, list(s)) for s in log.series)
    return repr((series, log.events, log.documents, log.notes, log.total_steps))


# --- Megatron -----------------------------------------------------------------------------------------


def test_megatron_gives_its_values_at_its_iterations() -> None:
    log = read("megatron_lm.log")
    loss = points(log, "loss")
    assert [step for step, _ in loss] == [10, 20, 30, 40, 50, 60]
    assert loss[0][1] == 6.852245
    assert math.isnan(loss[4][1])
    assert points(log, "skipped") == [(10, 3.0), *((step, 0.0) for step in range(20, 61, 10))]
    assert points(log, "number of nan iterations")[4] == (50, 1.0)
    assert points(log, "loss_scale")[:2] == [(10, 65536.0), (20, 8192.0)]
    assert points(log, "val/loss") == [(30, 3.885041), (60, 2.498297)]
    assert points(log, "val/perplexity")[0] == (30, 48.66895)
    assert points(log, "test/lm loss") == [(60, 2.654321)]
    assert log.total_steps == 60
    (aggregation,) = {series.aggregation for series in log.series if series.name == "loss"}
    assert aggregation is Aggregation.WINDOW_MEAN


def test_counting_no_nan_iterations_is_no_event() -> None:
    assert set(kinds(read("megatron_lm.log"))) == {EventKind.CHECKPOINT, EventKind.FINISHED}


def test_megatron_behind_a_launcher_that_resumed() -> None:
    log = read("megatron_core.log")
    assert [step for step, _ in points(log, "loss")] == [101, 102, 103, 104]
    assert points(log, "loss/load_balancing")[0] == (101, 1.0101)
    assert points(log, "throughput")[0] == (101, 26.9)
    (event,) = log.events
    assert (event.kind, event.step) == (EventKind.RESUMED, 100)


def test_gpt_neox_is_of_the_family() -> None:
    log = read("gpt_neox.log")
    assert points(log, "loss")[0] == (5, 8.230406)
    assert points(log, "throughput")[0] == (5, 860.999)
    assert points(log, "val/loss") == [(20, 5.043036)]
    assert kinds(log) == [EventKind.OVERFLOW]


# --- DeepSpeed and other loss scalers -------------------------------------------------------------------


def test_deepspeed_tells_its_scale_by_messages() -> None:
    log = read("deepspeed_zero.log")
    assert points(log, "skipped") == [(5, 5), (10, 8), (15, 9), (20, 9), (25, 10), (30, 11)]
    assert points(log, "loss_scale")[:5] == [(0, 2.0**k) for k in (20, 19, 18, 17, 16)]
    assert points(log, "loss_scale")[-2:] == [(19, 16384.0), (24, 8192.0)]
    assert points(log, "loss")[0] == (4, 16.191099166870117)
    assert kinds(log) == [EventKind.OVERFLOW] * 11


def test_a_scale_that_grows_is_no_overflow() -> None:
    log = read("deepspeed_unfused.log")
    assert points(log, "loss_scale") == [(4, 2.0**21), (9, 2.0**22), (14, 2.0**23), (19, 2.0**24)]
    assert log.events == ()


def test_deepspeed_chat_prints_losses_and_scores_of_three_kinds() -> None:
    log = read("deepspeed_chat.log")
    assert points(log, "val/perplexity") == [(0, 4998.2964)]
    assert points(log, "loss/act") == [(0, -0.01), (1, -0.02)]
    assert points(log, "train/reward") == [(0, -0.5), (1, 0.5)]
    assert points(log, "loss") == [(20, 0.6591)]
    assert points(log, "val/accuracy") == [(20, 0.6995)]
    assert points(log, "lr") == [(10, 9.65e-06), (20, 9.6e-06)]
    # Two ranks say everything, one after the other.
    assert points(log, "loss_scale") == [(0, 32768.0), (1, 16384.0), (10, 32768.0)]


@pytest.mark.parametrize(
    ("line", "scales"),
    [
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8192.0", [(0, 8192.0)]),
        ("Gradient overflow.  Skipping step, reducing loss scale to 3.0517578125e-05", [(0, 2.0**-15)]),
        ("NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 32.0", [(0, 32.0)]),
        ("| WARNING: overflow detected, setting loss scale to: 0.25", [(0, 0.25)]),
        ("AMP: overflow detected, setting scale to to 16.0", [(0, 16.0)]),
        (
            "Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1",
            [(0, 65536.0)],
        ),
        (
            "fp16 dynamic loss scale overflow! Skipping step. Attempted loss scale: 64.0, reducing to 32.0",
            [(0, 32.0)],
        ),
        ("Reducing dynamic loss scale from 65536 to 32768.0", [(0, 32768.0)]),
        ("Loss scale window is 1000", []),
        ("Creating fp16 optimizer with dynamic loss scale", []),
        ("scaling the loss to 1", []),
    ],
)
def test_what_scalers_say(line: str, scales: list[tuple[int, float]]) -> None:
    assert list(scales_in(line)) == scales


def test_apex_overflows_inside_any_log() -> None:
    log = read("imagenet_example.log")
    assert kinds(log) == [EventKind.OVERFLOW, EventKind.OVERFLOW]
    assert points(log, "loss_scale") == [(21, 32768.0), (21, 16384.0)]
    assert points(log, "loss_scale/1") == [(21, 8192.0)]


def test_a_message_behind_a_bar_is_seen_and_the_bar_too(tmp_path: Path) -> None:
    bar = "\r  {0}%|#   | {0}/100 [00:01<01:00, 1.0it/s, loss={0}.5]"
    told = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n"
    dated = "[2023-04-16 10:00:00,123] [INFO] [deepspeed] OVERFLOW! Attempted loss scale: 8, reducing to 4\n"
    text = bar.format(1) + told.format(16.0) + bar.format(2) + told.format(8.0) + bar.format(3) + dated
    (tmp_path / "x.log").write_text(text)
    log = read_log(tmp_path / "x.log")
    assert points(log, "loss") == [(1, 1.5), (2, 2.5), (3, 3.5)]
    assert points(log, "loss_scale") == [(1, 16.0), (2, 8.0), (3, 4.0)]
    assert [event.line for event in log.events] == [1, 2, 3]


def test_a_scale_in_the_lines_speaks_louder_than_messages() -> None:
    log = read("fairseq_text.log")
    assert points(log, "loss_scale")[0] == (2, 32.0)
    assert kinds(log).count(EventKind.OVERFLOW) == 3


def test_a_script_that_prints_its_own_losses_is_not_taken_for_bare_deepspeed(tmp_path: Path) -> None:
    step = "[INFO] [logging.py:96:log_dist] [Rank 0] step={0}, skipped=0, lr=[1e-05], mom=[0.9]\n"
    own = "train step {0} of 900 | loss {1:.4f} | grad {1:.3f}\n"
    (tmp_path / "x.log").write_text("".join(step.format(i) + own.format(i, 9 / i) for i in range(1, 30)))
    log = read_log(tmp_path / "x.log")
    assert log.format != "DeepSpeed log"
    assert len(points(log, "loss")) == 29


# --- fairseq ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fairseq_text.log", "fairseq_json.log"])
def test_fairseq_tells_the_same_in_both_ways(name: str) -> None:
    log = read(name)
    assert points(log, "loss") == [(2, 10.034), (4, 8.04), (6, 6.611), (8, 5.588), (10, 4.854), (12, 4.328)]
    assert points(log, "grad_norm")[0] == (2, 1.5)
    assert points(log, "val/loss") == [(6, 6.511), (13, 4.231)]
    assert points(log, "val/perplexity") == [(6, 45.6), (13, 9.39)]
    assert points(log, "train_loss") == [(6, 8.228), (13, 4.796)]
    assert kinds(log).count(EventKind.CHECKPOINT) == 2
    assert not any("best" in series.name for series in log.series)


def test_old_fairseq_has_bars_and_no_logger(tmp_path: Path) -> None:
    inner = "| epoch 001:    {0} / 5000 loss=9.{0}, nll_loss=8.1, ppl=300.5, lr=9e-06, gnorm=3.952, clip=0%\n"
    (tmp_path / "x").write_text("".join(inner.format(step) for step in (100, 200, 300)))
    log = read_log(tmp_path / "x")
    assert points(log, "loss") == [(100, 9.1), (200, 9.2), (300, 9.3)]


# --- Transformer-XL -----------------------------------------------------------------------------------


def test_transformer_xl_counts_steps_over_epochs() -> None:
    log = read("transformer_xl.log")
    assert points(log, "loss") == [(200, 6.85), (400, 4.94), (600, 3.79), (800, 3.08)]
    assert points(log, "val/loss") == [(600, 3.89)]
    assert points(log, "test loss") == [(800, 2.95)]


def test_the_word_language_model_counts_batches_within_epochs() -> None:
    log = read("word_language_model.log")
    assert [step for step, _ in points(log, "loss")] == [200, 400, 650, 850]
    assert points(log, "val/loss") == [(400, 5.04), (850, 3.18)]


# --- OpenMMLab and detectron2 ---------------------------------------------------------------------------


def test_mmengine_by_epoch_counts_on_over_the_epochs() -> None:
    log = read("mmengine_epoch.log")
    assert [step for step, _ in points(log, "loss")] == list(range(2, 19, 2))
    assert points(log, "loss/cls")[0] == (2, 0.5319)
    assert points(log, "val/accuracy") == [(6, 70.8333), (12, 79.1667), (18, 87.5)]
    assert kinds(log) == [EventKind.CHECKPOINT] * 3


def test_mmengine_by_iteration_knows_its_length() -> None:
    log = read("mmengine_iter.log")
    assert log.total_steps == 12
    assert points(log, "loss")[-1] == (12, 0.6717)
    assert points(log, "val/accuracy") == [(6, 70.8333), (12, 79.1667)]


def test_mmcv_separates_by_commas() -> None:
    log = read("mmcv.log")
    assert [step for step, _ in points(log, "loss")] == [50, 100, 170, 220]
    assert points(log, "train/accuracy")[0] == (50, 91.125)
    assert points(log, "val/bbox_map") == [(100, 0.12), (220, 0.22)]
    assert points(log, "val/map") == [(100, 0.12), (220, 0.22)]
    assert not any("copypaste" in series.name for series in log.series)


def test_detectron2_gives_losses_and_the_first_tasks_scores() -> None:
    log = read("detectron2.log")
    assert [step for step, _ in points(log, "loss")] == [19, 39, 59, 79]
    assert points(log, "mem")[0] == (19, 3012.0)
    assert points(log, "val/map") == [(59, 37.9251)]
    assert points(log, "val/segm_ap") == [(59, 35.2011)]
    # No small object was there to be found: no score, rather than one that is not a number.
    assert not any(series.name == "val/APs" for series in log.series)
    assert all(np.isfinite(series.values).all() for series in log.series)


def test_maskrcnn_benchmark_prints_means_in_parentheses() -> None:
    assert points(read("maskrcnn_benchmark.log"), "loss") == [(20, 4.943), (40, 3.0827), (60, 2.3983)]


# --- meters -------------------------------------------------------------------------------------------


def test_swin_gives_values_and_the_end_of_each_validation() -> None:
    log = read("swin.log")
    assert [step for step, _ in points(log, "loss")] == [0, 10, 20, 24, 34, 44]
    assert points(log, "loss")[1] == (10, round(curve(10), 4))
    assert points(log, "loss_scale")[-1] == (44, 131072.0)
    assert points(log, "val/accuracy") == [(20, 6.0), (44, 16.0)]
    assert points(log, "val/loss") == [(20, 10.1), (44, 4.5096)]
    assert kinds(log) == [EventKind.CHECKPOINT] * 2


def test_zeros_that_stand_for_nothing_are_left_out() -> None:
    log = read("swin_without_amp.log")
    assert not {"grad_norm", "loss_scale"} & {series.name for series in log.series}
    assert log.notes == ("grad_norm and loss_scale: always 0, a placeholder that was not measured; left out",)


def test_zero_gradients_of_a_zero_loss_are_kept(tmp_path: Path) -> None:
    line = (
        "INFO Train: [0/9][{0}/90]\teta 0:00:44 lr 0.001\tloss 0.00 (0.00)\tgrad_norm 0.00 (0.00)\tmem 1MB\n"
    )
    (tmp_path / "x.log").write_text("".join(line.format(step) for step in range(10, 50, 10)))
    assert points(read_log(tmp_path / "x.log"), "grad_norm")[0] == (10, 0.0)


def test_timm_tells_averaged_weights_apart() -> None:
    log = read("timm_train.log")
    assert [step for step, _ in points(log, "loss")] == [0, 10, 19, 20, 30, 39]
    assert points(log, "step_time")[0] == (0, 0.2)
    assert points(log, "val/accuracy") == [(19, 1.0), (39, 11.0)]
    assert points(log, "val/ema/Acc@1") == [(19, 1.0), (39, 6.0)]


def test_metric_logger_of_torchvision() -> None:
    log = read("torchvision_classification.log")
    assert points(log, "loss")[0] == (0, 10.0)
    assert points(log, "val/accuracy") == [(19, 1.5), (39, 11.5)]
    assert points(log, "val/ema/acc1") == [(19, 1.0), (39, 6.0)]


def test_metric_logger_of_detr_with_cocos_summary() -> None:
    log = read("detr.log")
    assert points(log, "loss/ce_0")[0] == (0, 1.3)
    assert points(log, "val/map") == [(9, 0.12), (19, 0.22)]
    assert points(log, "val/map50") == [(9, 0.32), (19, 0.42)]
    assert points(log, "val/segm_map") == [(9, 0.01), (19, 0.02)]
    assert not any("small" in series.name for series in log.series)


def test_the_imagenet_example_and_its_children() -> None:
    log = read("imagenet_example.log")
    assert [step for step, _ in points(log, "loss")] == [1, 11, 21, 25, 35, 45]
    assert points(log, "val/accuracy") == [(21, 1.52), (45, 11.52)]


def test_epochs_counted_from_one_begin_at_the_first_step(tmp_path: Path) -> None:
    line = "Epoch: [{}/3][{}/10]\tTime 0.3 (0.5)\tLoss 1.5 (1.7)\tPrec@1 10.0 (11.0)\n"
    (tmp_path / "x.log").write_text("".join(line.format(e, b) for e in (1, 2) for b in (0, 5)))
    assert [step for step, _ in points(read_log(tmp_path / "x.log"), "loss")] == [0, 5, 10, 15]


# --- nnU-Net ------------------------------------------------------------------------------------------


def test_nnunet_counts_epochs_and_has_negative_losses() -> None:
    log = read("nnunet_v2.txt")
    assert {series.axis for series in log.series} == {"epoch"}
    assert points(log, "loss") == [(0, -0.1121), (1, -0.5526), (2, -0.7526)]
    assert points(log, "val/loss") == [(0, -0.2212), (1, -0.471), (2, -0.771)]
    assert points(log, "val/dice") == [(0, 0.375), (1, 0.8399), (2, pytest.approx(0.85))]
    assert kinds(log) == [EventKind.FINISHED]


def test_nnunet_of_the_first_version() -> None:
    log = read("nnunet_v1.txt")
    assert points(log, "loss") == [(0, -0.2), (1, -0.4), (2, -0.6)]
    assert points(log, "val/loss")[0] == (0, -0.21)
    assert points(log, "val/dice")[0] == (0, 0.3)


# --- torchtitan and Keras -------------------------------------------------------------------------------


def test_torchtitan_is_read_through_its_colours() -> None:
    log = read("torchtitan.log")
    assert points(log, "loss") == [(step, round(curve(step), 5)) for step in (1, 10, 20, 30)]
    assert points(log, "throughput")[0] == (1, 1235.0)
    assert points(log, "mem")[0] == (1, 40.51)
    assert points(log, "val/loss") == [(20, 5.043)]


def test_exported_losses_are_taken_for_such_with_a_note() -> None:
    log = read("torchtitan_losses.txt")
    assert points(log, "loss") == [(step, curve(step)) for step in range(1, 9)]
    assert log.notes == ("two columns without names, taken for steps and losses",)


def test_pairs_of_whole_numbers_are_no_losses(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("".join(f"{i} {i * i}\n" for i in range(20)))
    head = head_of(tmp_path / "x.txt", "x.txt")
    (torchtitan,) = [reader for reader in formats() if reader.FORMAT == "torchtitan log"]
    assert torchtitan.recognise(head) == 0


def test_keras_bars_count_on_over_the_epochs() -> None:
    log = read("keras_bar.log")
    assert points(log, "loss")[0] == (1, 1.2581)
    assert points(log, "loss")[-1] == (24, 0.5871)
    assert points(log, "val/loss") == [(8, 0.6353), (16, 0.6315), (24, 0.595)]
    assert points(log, "lr") == [(8, 0.5), (16, 0.5), (24, 0.05)]
    # What is evaluated after the fit is not the training loss.
    assert points(log, "test/loss") == [(24, 0.6341)]
    assert kinds(log) == [EventKind.CHECKPOINT] * 3


def test_keras_without_bars_gives_one_point_an_epoch() -> None:
    log = read("keras_lines.log")
    assert points(log, "loss") == [(8, 0.8805), (16, 0.6322), (24, 0.5871)]
    assert points(log, "test/loss") == [(24, 0.6341)]


def test_keras_two_overprints_with_backspaces() -> None:
    log = read("keras2_bar.log")
    assert [step for step, _ in points(log, "loss")] == [1, 10, 20, 21, 30, 40]
    assert points(log, "val/loss") == [(20, 5.043), (40, 3.1827)]
    # "improved from inf" is a sentinel, not a loss.
    assert kinds(log) == [EventKind.CHECKPOINT]


# --- the corpus -----------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("pattern", "name", "count", "first", "last"),
    [
        ("swin/*zero_loss/*", "loss", 2622, 0.0, 0.0),
        ("swin/*zero_loss/*", "grad_norm", 2622, 0.0, 0.0),
        ("swin/*zero_loss/*", "loss_scale", 2622, 2.0**16, 2.0**29),
        ("swin/*rank1/*", "loss", 22, 6.9468, 6.941),
        ("swin/*restart/*", "loss", 4839, 0.9096, 0.6819),
        ("deepspeed/*step1*/*.log", "val/perplexity", 17, 4998.296, 1.80851),
        ("deepspeed/*step1*/*.log", "skipped", 736, 6, 139),
        ("deepspeed/*step1*/*.log", "loss_scale", 139, 65536, 32768),
        ("deepspeed/*dpo/*.log", "val/loss", 2, 0.693359, 0.665081),
        ("deepspeed/*reward/*.log", "val/accuracy", 2, 0.492424, 0.699495),
        ("deepspeed/*rlhf/*.log", "train/reward", 477, -0.679199, 4.382813),
        ("torchtitan/*/*.txt", "loss", 100, 8.049097, 2.746472),
    ],
)
def test_a_real_log_gives_its_values(
    corpus: Path, pattern: str, name: str, count: int, first: float, last: float
) -> None:
    (path,) = corpus.glob(pattern)
    found = points(read_log(path), name)
    assert len(found) == count
    assert [found[0][1], found[-1][1]] == pytest.approx([first, last], rel=1e-5)


# --- settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line", "setting"),
    [
        ("megatron_lm.log", 3, "train_iters: 60"),
        ("deepspeed_zero.log", 1, '"initial_scale_power": 20'),
        ("torchvision_classification.log", 2, "lr: 0.5"),
    ],
)
def test_the_settings_in_a_log_are_a_document(name: str, line: int, setting: str) -> None:
    (document,) = read(name).documents
    assert document.first_line == line
    assert setting in document.text


# --- lines as people have them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected", "name", "value"),
    [
        (
            "08/31/2024 14:37:31 [INFO|DP=0|PP=0|TP=0]: iteration: {0} / 15 | consumed_tokens: 4.71K | "
            "global_batch_size: 2 | lm_loss: 5.32 | lr: 0.00015 | grad_norm: 2.96 | memory: 67.4M",
            "Megatron log",
            "loss",
            5.32,
        ),
        (
            "Train: data epoch: [0]  [   {0}/10000]  eta: 1 day, 12:16:51  lr: 0.000010  loss: 0.2413  "
            "time: 0.1205  data: 0.0000  max mem: 2446",
            "MetricLogger log",
            "loss",
            0.2413,
        ),
        (
            "06/18/2026 23:37:00 - INFO - __main__ -   eta: 0:00:00  iter: {0}  global_step: {0}  "
            "speed: 0.1 images/sec  loss: 10.3598 (10.4238)  acc: 0.0000 (0.0000)  max mem: 7738",
            "detectron2 log",
            "loss",
            10.3598,
        ),
        (
            "[2022-08-02 00:57:06,864][train_inner][INFO] - epoch 006:    {0} / 5000 loss=2.318, ppl=4.99, "
            "num_updates={0}, lr=0.0004, gnorm=0.68, loss_scale=16",
            "fairseq log",
            "grad_norm",
            0.68,
        ),
        (
            "[2022-08-02 00:57:06,864][train_inner][INFO] - "
            '{{"epoch": 6, "update": 5.028, "loss": "nan", "num_updates": "{0}", "gnorm": "inf"}}',
            "fairseq log",
            "grad_norm",
            math.inf,
        ),
        (
            "2022-05-22 02:54:29,655 - mmseg - INFO - Iter [{0}/320000]\tlr: 9.799e-07, eta: 1:45:59, "
            "time: 0.672, memory: 7999, decode.loss_seg: 4.2275, decode.acc_seg: 0.2135, loss: 5.9106",
            "MMEngine log",
            "loss",
            5.9106,
        ),
        (
            "[2025-08-09 02:00:41 baseline] (runner.py 175): INFO Train: [0/70][{0}/1865]\tETA 0:06:15 "
            "LR 0.000031\tTime 0.2013 (0.2013)\tLoss 0.10096312 (0.10096312)\tGradNorm 0.2076 (inf)\t",
            "Swin log",
            "grad_norm",
            0.2076,
        ),
        (
            "steps: {0} loss: 2.3125 iter time (s): 0.123 samples/sec: 123.412",
            "DeepSpeed log",
            "loss",
            2.3125,
        ),
    ],
)
def test_a_line_from_the_wild(tmp_path: Path, line: str, expected: str, name: str, value: float) -> None:
    (tmp_path / "x.log").write_text("".join(line.format(step) + "\n" for step in (10, 11, 12, 13)))
    log = read_log(tmp_path / "x.log")
    assert log.format == expected
    assert points(log, name) == [(step, value) for step in (10, 11, 12, 13)]


def test_a_precision_of_minus_one_is_none(tmp_path: Path) -> None:
    train = "06/04 13:07:05 - mmengine - INFO - Epoch(train) [1][{}/4]  lr: 1e-3  eta: 0:01:00  loss: 0.5\n"
    val = (
        "06/04 13:08:05 - mmengine - INFO - Epoch(val) [1][3/3]    coco/bbox_mAP: 0.8470  "
        "coco/bbox_mAP_s: -1.0000  dota/detail: {'car': {'ap': 0.1, 'num_dets': 30}}  time: 1.1675\n"
    )
    (tmp_path / "x.log").write_text("".join(train.format(step) for step in (1, 2, 3, 4)) + val)
    log = read_log(tmp_path / "x.log")
    assert [series.name for series in log.series if series.name.startswith("val/")] == ["val/coco_bbox_map"]


def test_an_error_in_parentheses_is_no_mean(tmp_path: Path) -> None:
    train = "Train: 0 [   {}/9 ( 11%)]  Loss: 6.95 (6.94)  Time: 0.2s, 99.0/s  (0.2s, 98.0/s)  LR: 1.0e-06\n"
    (tmp_path / "x.log").write_text(
        "".join(train.format(i) for i in range(4)) + " * Acc@1 71.2 (28.8) Acc@5 90.1 (9.9)\n"
    )
    assert points(read_log(tmp_path / "x.log"), "val/accuracy") == [(3, 71.2)]


def test_a_list_of_things_is_no_score(tmp_path: Path) -> None:
    train = "Epoch: [0][{}/9]\tTime 0.3 (0.5)\tLoss 1.5 (1.7)\n"
    (tmp_path / "x.log").write_text(" * Running on 8 GPUs\n" + "".join(train.format(i) for i in range(4)))
    assert {series.name for series in read_log(tmp_path / "x.log").series} == {"loss", "step_time"}


@pytest.mark.parametrize("first", [0, 1])
def test_the_epochs_of_a_language_model_may_count_from_zero(tmp_path: Path, first: int) -> None:
    lines = []
    for epoch in range(4):
        for batch in (100, 200):
            loss = 5 - epoch - batch / 400
            lines.append(
                f"| epoch {epoch + first:3d} | {batch:5d}/  200 batches | lr 20.00 | loss {loss:5.2f} | ppl 9.1"
            )
        lines.append(f"| end of epoch {epoch + 1:3d} | time: 40.1s | valid loss {4.9 - epoch:5.2f} |")
    (tmp_path / "train.log").write_text("\n".join(lines), encoding="utf-8")
    found = {series.name: series for series in read_log(tmp_path / "train.log").series}
    assert found["loss"].steps.tolist() == list(range(100, 801, 100))
    assert found["val/loss"].steps.tolist() == [200, 400, 600, 800]
