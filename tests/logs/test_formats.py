"""What each reader makes of a log in its format's real shape."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from stethoscope.errors import UnreadableFile
from stethoscope.logs import read_log
from stethoscope.run import Aggregation, EventKind, Log
from tests.fixtures.logs.make import HERE, fixtures
from tests.logs.reading import points, series


def log_of(name: str) -> Log:
    return read_log(HERE / name, name)


def test_the_fixtures_are_what_their_script_writes() -> None:
    for name, text in fixtures().items():
        assert (HERE / name).read_bytes() == text.encode(), f"run tests/fixtures/logs/make.py: {name}"


@pytest.mark.parametrize(
    ("file", "form", "signals"),
    [
        ("lightning_metrics.csv", "CSV table", {"loss", "val/loss", "epoch", "train_loss_epoch"}),
        ("ultralytics_results.csv", "CSV table", {"loss/box", "val/loss/box", "val/map50_b", "lr"}),
        ("spinup_progress.txt", "CSV table", {"train/reward", "loss/pi", "loss/v", "runtime"}),
        ("stats.jsonl", "JSON lines", {"loss"}),
        ("trainer_log.jsonl", "JSON lines", {"loss", "lr", "epoch"}),
        ("mmdet.log.json", "JSON lines", {"loss", "loss/cls", "val/bbox_map", "step_time"}),
        ("detr_log.txt", "JSON lines", {"loss", "loss/ce", "val/loss", "test_coco_eval_bbox/0"}),
        ("trainer_state.json", "HF trainer_state.json", {"loss", "val/loss", "grad_norm", "lr"}),
        ("records.json", "JSON records", {"loss"}),
        (
            "train_redux_20251129_142010.log",
            "BasicSR text log",
            {"loss", "loss/ssim", "weight/l1", "loss_scale"},
        ),
        ("train_basicsr_20241018_192730.log", "BasicSR text log", {"loss", "loss/pix", "val/psnr", "lr/1"}),
        ("neosr.log", "BasicSR text log", {"loss", "loss/mssim", "lr", "throughput"}),
        ("nanogpt.log", "nanoGPT log", {"loss", "train/loss", "val/loss", "step_time"}),
        ("build_nanogpt.txt", "build-nanogpt log", {"loss", "val/loss", "val/hellaswag"}),
        ("modded_nanogpt.txt", "modded-nanogpt log", {"loss", "val/loss", "step_time"}),
        ("llmc_main.log", "llm.c log", {"loss", "val/loss", "lr", "grad_norm", "val/hellaswag"}),
        ("llmc_console.log", "llm.c log", {"loss", "val/loss", "grad_norm", "throughput"}),
        ("nanochat.log", "nanochat log", {"loss", "val/bpb", "val/core", "throughput"}),
        ("sedd_logs", "SEDD log", {"loss", "val/loss"}),
        ("bars.log", "progress bar", {"loss", "lr"}),
    ],
)
def test_a_format_is_recognised_by_content(file: str, form: str, signals: set[str], tmp_path: Path) -> None:
    for path in (HERE / file, tmp_path / "x.log"):
        path.write_bytes((HERE / file).read_bytes()) if path.parent == tmp_path else None
        log = read_log(path)
        assert log.format == form
        assert signals <= {s.name for s in log.series}


# --- tables -----------------------------------------------------------------------------------------


def test_empty_cells_are_absent_and_rows_are_sparse() -> None:
    log = log_of("lightning_metrics.csv")
    assert len(series(log, "loss")) == 8
    assert [step for step, _ in points(log, "val/loss")] == [24, 49, 74, 99]
    assert series(log, "loss").aggregation is Aggregation.INSTANT
    assert series(log, "train_loss_epoch").aggregation is Aggregation.WINDOW_MEAN


def test_the_epoch_is_the_axis_where_no_step_is_logged() -> None:
    box = series(log_of("ultralytics_results.csv"), "loss/box")
    assert (box.axis, box.steps.tolist()) == ("epoch", [0, 1, 2, 3, 4])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_non_finite_spellings_are_values(separator: str, tmp_path: Path) -> None:
    cells = ["nan", "NaN", "-nan", "inf", "-Infinity", "Infinity", " 1.5 ", '"2.5"']
    rows = [separator.join(("step", "loss")), *(f"{i}{separator}{cell}" for i, cell in enumerate(cells))]
    (tmp_path / "log.csv").write_text("\ufeff" + "\r\n".join(rows))
    values = series(read_log(tmp_path / "log.csv"), "loss").values
    assert np.isnan(values[:3]).all()
    assert values[3:].tolist() == [math.inf, -math.inf, math.inf, 1.5, 2.5]


def test_rows_are_counted_where_nothing_counts_steps(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("loss,lr\n3.0,0.1\n2.0,0.1\n")
    log = read_log(tmp_path / "log.csv")
    assert (series(log, "loss").axis, points(log, "loss")) == ("row", [(0, 3.0), (1, 2.0)])
    assert log.notes == ("no column counts steps: rows are counted instead",)


def test_the_optimiser_step_is_preferred_to_the_log_call(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("_step,iter,train/loss\n0,0.0,3\n1,,2.9\n2,10.0,2.8\n")
    assert points(read_log(tmp_path / "history.csv"), "loss") == [(0, 3.0), (0, 2.9), (10, 2.8)]


@pytest.mark.parametrize(
    "text",
    [
        "# step loss\n0 3.0\n10 2.0\n",
        "Step | Train Loss\n0 | 3.0\n10 | 2.0\n",
        "global step,loss,loss\n0,3.0,9\n10,2.0,8\n",
        "time,step,tag,value\n1700000000,0,train/loss,3\n1700000000,0,lr,0.1\n1700000009,10,train/loss,2\n",
    ],
    ids=["blanks", "bars", "a name twice", "one value per row"],
)
def test_tables_are_understood_in_other_shapes(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(text)
    assert points(read_log(tmp_path / "log.txt"), "loss") == [(0, 3.0), (10, 2.0)]


def test_a_header_written_again_by_a_restart_is_understood(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n0,3\n1,2\nstep,loss,lr\n2,1.5,0.1\n")
    assert points(read_log(tmp_path / "log.csv"), "loss") == [(0, 3.0), (1, 2.0), (2, 1.5)]


def test_half_a_number_at_the_cut_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,lr,loss\n0,0.1,3.25\n1,0.1,3.50\n2,0.0")
    log = read_log(tmp_path / "log.csv")
    assert points(log, "lr") == [(0, 0.1), (1, 0.1)]
    assert log.notes == ("1 of 3 rows have more or fewer cells than the header",)


def test_a_tensorboard_download_is_named_by_its_tag(tmp_path: Path) -> None:
    (tmp_path / "run-a-tag-train_loss.csv").write_text(
        "Wall time,Step,Value\n1700000000.5,0,3\n1700000001.5,10,2\n"
    )
    log = read_log(tmp_path / "run-a-tag-train_loss.csv")
    assert points(log, "loss") == [(0, 3.0), (10, 2.0)]
    assert (log.started, log.last_written) == (1700000000.5, 1700000001.5)


def test_a_table_named_val_holds_validation(tmp_path: Path) -> None:
    (tmp_path / "val.csv").write_text("step,loss,acc\n0,3,0.1\n10,2,0.2\n")
    assert {s.name for s in read_log(tmp_path / "val.csv").series} == {"val/loss", "val/accuracy"}


def test_a_table_beside_that_of_its_training_holds_validation(tmp_path: Path) -> None:
    for name in ("train_fold3.csv", "val_fold3.csv"):
        (tmp_path / name).write_text("step,loss,acc\n0,3,0.1\n10,2,0.2\n")
    assert {s.name for s in read_log(tmp_path / "val_fold3.csv").series} == {"val/loss", "val/accuracy"}
    assert {s.name for s in read_log(tmp_path / "train_fold3.csv").series} == {"loss", "train/accuracy"}
    (tmp_path / "train_fold3.csv").unlink()
    assert {s.name for s in read_log(tmp_path / "val_fold3.csv").series} == {"loss", "train/accuracy"}


def test_the_only_loss_is_the_loss(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,mse_loss\n0,3\n10,2\n")
    log = read_log(tmp_path / "log.csv")
    assert points(log, "loss") == points(log, "loss/mse") == [(0, 3.0), (10, 2.0)]


# --- JSON -------------------------------------------------------------------------------------------


def test_a_mean_over_a_tick_is_its_value_and_images_are_the_axis() -> None:
    log = log_of("stats.jsonl")
    loss = series(log, "loss")
    assert (loss.axis, loss.steps.tolist()) == ("kimg", [0, 4, 8, 12, 16, 20])
    assert math.isnan(loss.values[-1])
    assert loss.aggregation is Aggregation.WINDOW_MEAN
    assert log.started == 1697077379.2


def test_a_record_of_one_value_is_named_by_its_tag(tmp_path: Path) -> None:
    entry = '{{"tag": "{}/loss", "value": {}, "step": {}}}\n'
    lines = (entry.format("train", 3, 0), entry.format("val", 4, 0), entry.format("train", 2, 10))
    (tmp_path / "a.jsonl").write_text("".join(lines))
    log = read_log(tmp_path / "a.jsonl")
    assert (points(log, "loss"), points(log, "val/loss")) == ([(0, 3.0), (10, 2.0)], [(0, 4.0)])


def test_a_cut_last_line_is_noted_and_the_length_of_the_run_is_known() -> None:
    log = log_of("trainer_log.jsonl")
    assert log.notes == ("the last line is cut short",)
    assert log.total_steps == 200
    assert points(log, "loss")[0][0] == 5


def test_a_counter_that_begins_again_every_epoch_is_counted_on() -> None:
    log = log_of("mmdet.log.json")
    assert series(log, "loss").steps.tolist() == [50, 100, 150, 200, 250, 300, 350, 400, 450]
    assert series(log, "val/bbox_map").steps.tolist() == [150, 300, 450]


def test_numbers_in_quotes_and_huge_integers_are_numbers(tmp_path: Path) -> None:
    lines = [
        '{"num_updates": "100", "loss": "2.318"}',
        '{"num_updates": "200", "loss": "nan", "x": 1%s}' % ("0" * 400),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = read_log(tmp_path / "a.jsonl")
    assert points(log, "loss")[0] == (100, 2.318)
    assert points(log, "x") == [(200, math.inf)]


def test_a_traceback_between_json_lines_is_an_event(tmp_path: Path) -> None:
    crash = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: bad\n'
    (tmp_path / "a.jsonl").write_text(
        '{"step": 1, "loss": 2}\n{"step": 2, "loss": 2}\n{"step": 3, "loss": 2}\n' + crash
    )
    log = read_log(tmp_path / "a.jsonl")
    assert [(e.kind, e.message, e.line) for e in log.events] == [(EventKind.TRACEBACK, "ValueError: bad", 6)]
    assert log.notes == ("3 lines are not JSON objects and were passed over",)


def test_the_trainer_state_gives_steps_and_the_end() -> None:
    log = log_of("trainer_state.json")
    assert log.total_steps == 100
    assert [(e.kind, e.step) for e in log.events] == [(EventKind.FINISHED, 100)]
    assert series(log, "loss").aggregation is Aggregation.WINDOW_MEAN
    assert series(log, "grad_norm").aggregation is Aggregation.INSTANT


def test_a_loss_of_exactly_zero_beside_a_nan_norm_is_noted() -> None:
    (note,) = log_of("trainer_state.json").notes
    assert "exactly 0.0 at 1 of 10 points, first at step 60" in note


def test_a_cut_trainer_state_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = (HERE / "trainer_state.json").read_text()
    (tmp_path / "trainer_state.json").write_text(text[: len(text) // 2])
    log = read_log(tmp_path / "trainer_state.json")
    assert 2 < len(series(log, "loss")) < 10
    assert "the file is cut short; what is whole was read" in log.notes


# --- BasicSR ----------------------------------------------------------------------------------------


def test_iterations_have_thousands_separators_and_window_means() -> None:
    log = log_of("train_redux_20251129_142010.log")
    assert series(log, "loss").steps.tolist() == list(range(100, 1300, 100))
    assert series(log, "loss_scale").values[0] == 65536.0
    assert series(log, "loss").aggregation is Aggregation.WINDOW_MEAN
    assert log.total_steps == 1200


@pytest.mark.parametrize(
    "line",
    [
        "22-05-01 10:00:00.123 : <epoch:  3, iter:   1,200, lr:2.000e-04> G_loss: 1.5e-02 ",
        "2024-01-01 00:00:00,000 INFO: [iter:   1,200, lr:(2.000e-04)] [eta: 1:00:00] G_loss: 1.5e-02",
        "2024-01-01 00:00:00,000 INFO: [E..][epoch: 3, iter:1200, lr:(2.000e-04,)] [eta: 1] G_loss: 1.5e-02 ",
    ],
)
def test_other_dialects_of_an_iteration_line_are_read(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        line + "\n" + line.replace("200", "300", 1).replace("1.5e", "1.4e") + "\n"
    )
    log = read_log(tmp_path / "a.log")
    assert points(log, "loss/g") == [(1200, 0.015), (1300, 0.014)]
    assert points(log, "lr")[0] == (1200, 2e-4)


def test_a_validation_stands_at_the_iteration_before_it_not_at_the_best() -> None:
    log = log_of("train_redux_20251129_142010.log")
    assert points(log, "val/psnr") == [(500, 29.5), (1000, 29.0)]
    assert points(log, "val/set14_psnr") == [(500, 27.1), (1000, 27.1)]


def test_a_best_ahead_of_the_last_printed_iteration_is_this_validation(tmp_path: Path) -> None:
    lines = (HERE / "train_redux_20251129_142010.log").read_text().split("iter:   1,000")[0]
    more = "\n2025-11-29 15:00:00,000 INFO: Validation Set5\n\t # psnr: 31.0\tBest: 31.0 @    950 iter\n"
    (tmp_path / "a.log").write_text(lines.rsplit("\n", 1)[0] + more)
    assert points(read_log(tmp_path / "a.log"), "val/psnr")[-1] == (950, 31.0)


def test_the_yaml_dumped_in_a_log_is_a_document_with_its_line() -> None:
    log = log_of("train_redux_20251129_142010.log")
    (document,) = log.documents
    settings = yaml.safe_load(document.text)
    assert settings["train"]["total_iter"] == 1200
    assert (document.syntax, document.first_line) == ("yaml", 4)
    line = (HERE / log.file).read_text().splitlines()[document.first_line + 7 - 1]
    assert line.strip() == document.text.splitlines()[7].strip() == "total_iter: 1200"


def test_the_indented_listing_becomes_yaml_line_by_line() -> None:
    log = log_of("train_basicsr_20241018_192730.log")
    (document,) = log.documents
    settings = yaml.safe_load(document.text)
    assert settings["train"]["optim_g"] == {"type": "Adam", "lr": 1e-05, "weight_decay": "1e-4"}
    assert settings["datasets"]["train"]["meta_info"] is None
    at = document.text.splitlines().index("    total_iter: 400000")
    assert (HERE / log.file).read_text().splitlines()[
        document.first_line + at - 1
    ].strip() == "total_iter: 400000"
    assert log.total_steps == 400000


def test_terms_without_a_total_add_up_to_the_loss() -> None:
    log = log_of("train_basicsr_20241018_192730.log")
    loss = series(log, "loss")
    assert loss.logged_as == "l_g_pix + l_g_percep"
    assert loss.values[0] == pytest.approx(2.3872e-02 + 5.3585)
    assert loss.aggregation is Aggregation.INSTANT


def test_a_score_may_have_a_record_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "2026-11-18 04:16:54,742 INFO: [sr][iter:     250, lr:(1.600e-04,)] l_total: 3.8381e-02\n"
        "2026-11-18 04:16:54,907 INFO: Validation iter:     260\n"
        "2026-11-18 04:16:54,907 INFO: \t # psnr: 29.6197\tBest psnr: 29.6197 @ 260 iter\n"
        "2026-11-18 04:16:54,907 INFO: \t # mae: 0.0163\n"
    )
    log = read_log(tmp_path / "a.log")
    assert list(series(log, "val/psnr").values) == [29.6197]
    assert list(series(log, "val/psnr").steps) == [260]
    assert list(series(log, "val/mae").values) == [0.0163]


def test_a_resumed_log_says_where_it_began_and_why_it_ended() -> None:
    log = log_of("train_basicsr_20241018_192730.log")
    kinds = [(e.kind, e.step) for e in log.events]
    assert kinds == [(EventKind.RESUMED, 5000), (EventKind.CHECKPOINT, 5500), (EventKind.OUT_OF_MEMORY, 5500)]
    assert log.events[-1].line == len((HERE / log.file).read_text().splitlines())
    assert log.started is not None
    assert log.last_written is not None
    assert log.last_written - log.started == 151.0


def test_words_in_dumped_settings_are_no_events() -> None:
    kinds = {e.kind for e in log_of("train_redux_20251129_142010.log").events}
    assert kinds == {EventKind.STARTED, EventKind.FINISHED}


def test_a_log_that_never_began_is_a_log_without_series(tmp_path: Path) -> None:
    text = (HERE / "train_basicsr_20241018_192730.log").read_text().split("2024-10-18 19:28:36")[0]
    (tmp_path / "a.log").write_text(text)
    log = read_log(tmp_path / "a.log")
    assert (log.series, log.notes) == ((), ("no iteration line: training did not begin",))


# --- the nanoGPT family -----------------------------------------------------------------------------


def test_nanogpt_evaluates_its_training_loss_apart() -> None:
    log = log_of("nanogpt.log")
    assert [step for step, _ in points(log, "loss")] == [0, 10, 20, 30, 40, 50]
    assert [step for step, _ in points(log, "train/loss")] == [0, 50]


def test_source_before_the_steps_holds_no_events() -> None:
    log = log_of("modded_nanogpt.txt")
    assert log.events == ()
    assert log.total_steps == 20
    assert np.isfinite(series(log, "step_time").values).all()


def test_a_validation_before_the_first_step_stands_at_zero() -> None:
    log = log_of("llmc_console.log")
    assert points(log, "val/loss") == [(0, 11.009), (5, 10.5)]
    assert np.isnan(series(log, "loss").values[3:]).all()


def test_a_smoothed_loss_is_called_a_running_mean() -> None:
    log = log_of("nanochat.log")
    assert series(log, "loss").aggregation is Aggregation.RUNNING_MEAN
    assert series(log, "throughput").values[0] == 764514
    assert [e.kind for e in log.events] == [EventKind.FINISHED]


def test_a_bar_that_begins_again_goes_on(tmp_path: Path) -> None:
    def bar(done: int, loss: float) -> str:
        return f"\r {done * 20}%|#   | {done}/5 [00:01<00:02, 1.0it/s, loss={loss}]"

    (tmp_path / "a.out").write_text("".join(bar(done, 3.0) for done in range(6)) * 2)
    assert [step for step, _ in points(read_log(tmp_path / "a.out"), "loss")] == [
        0,
        1,
        2,
        3,
        4,
        5,
        5,
        6,
        7,
        8,
        9,
        10,
    ]


def test_an_emptied_log_that_begins_with_zero_bytes_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\0" * 4000 + (HERE / "nanogpt.log").read_bytes())
    assert len(series(read_log(tmp_path / "a.log"), "loss")) == 6


# --- output -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slurm-123.out", "train.err", "nohup.out", "job.e4711", "stderr.txt"])
def test_the_output_of_a_job_is_kept_for_how_it_ended(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(
        "loading data\nslurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2024 DUE TO TIME LIMIT ***\n"
    )
    log = read_log(tmp_path / name)
    assert (log.series, [(e.kind, e.line) for e in log.events]) == ((), [(EventKind.KILLED, 2)])


def test_output_that_says_nothing_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "nohup.out").write_text("loading data\nhello\n")
    with pytest.raises(UnreadableFile, match="not a log format known here"):
        read_log(tmp_path / "nohup.out")
