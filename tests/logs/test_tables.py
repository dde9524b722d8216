"""Tables, JSON lines and JSON documents, as frameworks write them and as files grow."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import csv_table, head_of, jsonl, keras_history, read_log, yolo_results
from stethoscope.logs._tables import fast_columns as _fast_columns
from stethoscope.run import Aggregation, Log, Series

RECORDED = Path(__file__).parents[1] / "fixtures" / "logs" / "recorded"


def log_of(path: Path, text: str | bytes) -> Log:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, path.name)


def series(log: Log, name: str) -> Series:
    found = [s for s in log.series if s.name == name]
    assert len(found) == 1, [s.name for s in log.series]
    return found[0]


def points(log: Log, name: str) -> list[tuple[int, float]]:
    return list(series(log, name))


def told(log: Log) -> dict[str, tuple[str, list[int], str, tuple[int, int] | None]]:
    """All that a log tells of its series, NaN included."""
    return {s.name: (s.axis, s.steps.tolist(), repr(s.values.tolist()), s.lines) for s in log.series}


# --- recorded by running the frameworks -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "form", "axis", "names"),
    [
        (
            "lightning/metrics.csv",
            "CSV table",
            "step",
            {"loss", "val/loss", "lr", "epoch", "train_loss_epoch"},
        ),
        ("keras/training.csv", "CSV table", "epoch", {"loss", "val/loss", "train/accuracy", "val/accuracy"}),
        ("keras/diverged.csv", "CSV table", "epoch", {"loss", "train/accuracy"}),
        ("keras/history.json", "Keras history", "epoch", {"loss", "val/loss", "train/accuracy", "lr"}),
        ("timm/summary.csv", "CSV table", "epoch", {"loss", "val/loss", "val/accuracy", "lr"}),
        ("stable_baselines/progress.csv", "CSV table", "step", {"loss", "train/reward", "throughput", "lr"}),
        (
            "stable_baselines/progress.json",
            "JSON lines",
            "step",
            {"loss", "train/reward", "throughput", "lr"},
        ),
        (
            "hf/trainer_state.json",
            "HF trainer_state.json",
            "step",
            {"loss", "val/loss", "val/loss/hard", "lr"},
        ),
        ("hf/all_results.json", "HF results", "epoch", {"loss", "val/loss", "runtime"}),
        ("hf/train_results.json", "HF results", "epoch", {"loss", "runtime"}),
        ("hf/eval_results.json", "HF results", "epoch", {"val/loss", "runtime/eval"}),
    ],
)
def test_a_recorded_table_is_read(file: str, form: str, axis: str, names: set[str]) -> None:
    log = read_log(RECORDED / file, file)
    assert log.format == form
    assert names <= {s.name for s in log.series}
    assert {s.axis for s in log.series} == {axis}


def test_lightning_logs_training_and_validation_on_rows_of_their_own() -> None:
    log = read_log(RECORDED / "lightning/metrics.csv")
    assert series(log, "loss").steps.tolist() == [4, 9, 14, 19, 24, 29, 34, 39, 44]
    assert series(log, "val/loss").steps.tolist() == [11, 23, 35, 47]
    assert series(log, "val/loss").lines == (6, 26)


def test_one_of_several_held_out_sets_speaks_for_all() -> None:
    log = read_log(RECORDED / "hf/trainer_state.json")
    assert points(log, "val/loss") == points(log, "val/loss/easy")
    assert series(log, "val/loss").lines == (26, 116)


def test_timesteps_are_the_axis_of_reinforcement_learning() -> None:
    reward = series(read_log(RECORDED / "stable_baselines/progress.csv"), "train/reward")
    assert reward.steps.tolist() == [64, 128, 192, 256, 320, 384, 448, 512]


# --- separated values in other shapes -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '"Step","red-fox-7 - train/loss","red-fox-7 - train/loss__MIN","red-fox-7 - train/loss__MAX"\n'
        '"0","3","2.9","3.1"\n"10","2","1.9","2.1"\n',
        "step;train loss\r\n0;3,000\r\n10;2.0\r\n".replace("3,000", "3.0"),
        "step,loss,\n0,3.0,\n10,2.0,\n",
        "step\tloss\n1\t0\t3.0\n2\t10\t2.0\n",
        ",step,loss\n0,0,3.0\n1,10,2.0\n",
        "\tstep\tloss\n0\t0\t3.0\n1\t10\t2.0\n",
        "# a comment\n".replace("a comment", "step, loss") + "0, 3.0\n# note\n10, 2.0\n",
        "\n\nstep,loss\n\n0,3.0\n\n10,2.0\n",
        "| step | loss |\n|------|------|\n| 0    | 3.0  |\n| 10   | 2.0  |\n",
        'step,note,loss\n0,"a, b",3.0\n10,"c ""d"", e",2.0\n',
        "step,loss\n0,300%\n10,200%\n".replace("00%", ".0"),
        "   step,    loss\n      0,     3.0\n     10,     2.0\n",
        "step\rloss".replace("\r", ",") + "\r0,3.0\r10,2.0\r",
        "time,step,loss\n2024-05-01T10:00:00,0,3.0\n2024-05-01T10:10:00,10,2.0\n",
    ],
    ids=[
        *("W&B download", "semicolons and CRLF", "a separator too many", "row numbers without a name"),
        *("an index", "an index between tabs", "a commented header", "blank lines", "Markdown"),
        *("quoted cells with commas", "points", "padding", "carriage returns", "dates"),
    ],
)
def test_a_sane_table_is_read(tmp_path: Path, text: str) -> None:
    assert points(log_of(tmp_path / "log.csv", text), "loss") == [(0, 3.0), (10, 2.0)]


def test_percentages_and_grouped_thousands_are_numbers(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", 'step,loss,val acc\n"1,000",3,12.5%\n"2,000",2,50 %\n')
    assert points(log, "val/accuracy") == [(1000, 12.5), (2000, 50.0)]


def test_decimal_commas_are_understood_where_commas_separate_nothing(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", "Epoch;Train Loss;LR\n1;1,5;0,001\n2;1,25;0,0005\n")
    assert points(log, "loss") == [(1, 1.5), (2, 1.25)]
    assert points(log, "lr") == [(1, 0.001), (2, 0.0005)]


def test_a_counter_of_how_many_tells_the_length_of_the_run(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", "Epoch,Train Loss,Time\n1/10,3,00:01:02\n2/10,2,00:01:03\n")
    assert (points(log, "loss"), log.total_steps) == ([(1, 3.0), (2, 2.0)], 10)


def test_a_unit_behind_every_number_of_a_column_is_left_out(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", "step,loss,time,mem\n1,3,12ms,1.2 GB\n2,2,13ms,1.5 GB\n")
    assert points(log, "mem") == [(1, 1.2), (2, 1.5)]
    assert points(log, "step_time") == [(1, 12.0), (2, 13.0)]


def test_a_column_says_which_rows_are_validation(tmp_path: Path) -> None:
    text = "epoch,phase,loss,acc\n0,train,2.0,0.1\n0,val,2.1,0.2\n1,train,1.9,0.3\n1,val,2.0,0.4\n"
    log = log_of(tmp_path / "a.csv", text)
    assert (points(log, "loss"), points(log, "val/loss")) == ([(0, 2.0), (1, 1.9)], [(0, 2.1), (1, 2.0)])
    assert points(log, "val/accuracy") == [(0, 0.2), (1, 0.4)]


def test_a_table_of_runs_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="a table of runs, not the log of one: 'run' names one in each"):
        log_of(tmp_path / "a.csv", "run,lr,val_loss\na,0.1,3.2\nb,0.01,3.1\nc,0.001,3.0\n")


def test_what_rows_tell_is_learned_when_they_come(tmp_path: Path) -> None:
    text = b"step;loss;\n0;3,5;\n10;2,5;\n"
    whole = log_of(tmp_path / "a.csv", text)
    reading = csv_table.begin(head_of(tmp_path / "a.csv", "a.csv"))
    assert reading.take(text[:11], False) == 11  # the header alone
    reading.take(text[11:], True)
    assert told(reading.log()) == told(whole)
    assert points(whole, "loss") == [(0, 3.5), (10, 2.5)]


def test_a_date_is_the_clock_and_no_value(tmp_path: Path) -> None:
    text = "date,step,loss\n2024-05-01 10:00:00,0,3\n2024-05-01 10:00:30,10,2\n"
    log = log_of(tmp_path / "a.csv", text)
    assert [s.name for s in log.series] == ["loss"]
    assert log.started is not None
    assert log.last_written is not None
    assert log.last_written - log.started == 30.0


def test_the_ranges_of_a_download_are_left_out_and_several_runs_stay_apart(tmp_path: Path) -> None:
    log = log_of(
        tmp_path / "a.csv", "Step,a - loss,a - loss__MIN,b - loss,b - loss__MIN\n0,3,2,5,4\n1,2,1,4,3\n"
    )
    assert {s.logged_as for s in log.series} >= {"a - loss", "b - loss"}
    assert not any(s.logged_as.endswith("__MIN") for s in log.series)
    assert log.notes == ("2 runs stand side by side: a, b ...",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_table_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding in {"utf-8-sig", "utf-16"} else "\ufeff"
    text = mark + "step,loss\n" + "".join(f"{at},{at / 7!r}\n" for at in range(3000))
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    assert points(read_log(tmp_path / "a.csv"), "loss") == [(at, at / 7) for at in range(3000)]


def test_a_restart_with_another_header_is_read_on(tmp_path: Path) -> None:
    rows = "".join(f"{at},{at}.5\n" for at in range(2000))
    more = "".join(f"{at},0.1,{at}.25\n" for at in range(2000, 4000))
    log = log_of(tmp_path / "a.csv", f"step,loss\n{rows}step,lr,loss\n{more}")
    assert len(series(log, "loss")) == 4000
    assert points(log, "loss")[-1] == (3999, 3999.25)
    assert series(log, "lr").lines == (2003, 4002)


def test_a_table_of_labelled_examples_is_refused_with_the_reason(tmp_path: Path) -> None:
    rows = "".join(f"24.5,{at / 3},0.{at},{'Loss' if at % 2 else 'Layer'}\n" for at in range(1, 9))
    with pytest.raises(UnreadableFile, match="labelled examples, not a log: 'epoch' does not count its rows"):
        log_of(tmp_path / "a.csv", "epoch,train_loss,train_acc,label\n" + rows)


def test_steps_and_losses_without_a_header_are_read(tmp_path: Path) -> None:
    text = "".join(f"{at} {8 / at!r}\n" for at in range(1, 40))
    assert points(log_of(tmp_path / "losses.txt", text), "loss")[:2] == [(1, 8.0), (2, 4.0)]
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "points.txt").write_text(text)
    assert csv_table.recognise(head_of(tmp_path / "shapes" / "points.txt", "points.txt")) == 0.0


def test_the_results_of_yolo_are_read(tmp_path: Path) -> None:
    row = "{:>10}{:>10}" + "{:10.4g}" * 13 + "\n"
    cells = (0.02, 0.018, 0.003, 0.041, 9, 640, 0.67, 0.52, 0.55, 0.31, 0.021, 0.017, 0.004)
    log = log_of(
        tmp_path / "results.txt", "".join(row.format(f"{at}/59", "1.39G", *cells) for at in range(3))
    )
    assert (log.format, log.total_steps) == (yolo_results.FORMAT, 60)
    assert {"loss", "loss/box", "val/loss/box", "val/map50", "val/map50_95", "mem"} <= {
        s.name for s in log.series
    }
    assert series(log, "loss").lines == (1, 3)
    f1 = 2 * 0.67 * 0.52 / (0.67 + 0.52)
    old = row.format("0/59", "1.39G", *cells[:9], f1, *cells[10:])
    assert "val/f1" in {s.name for s in log_of(tmp_path / "results.txt", old * 3).series}


# --- JSON -------------------------------------------------------------------------------------------------


def test_lines_of_several_kinds_are_read_alike_in_bulk_and_one_by_one(tmp_path: Path) -> None:
    lines = []
    for at in range(400):
        entry: dict[str, object] = {
            "step": at,
            "train": {"loss": at / 7, "lr": [1e-4, at * 1e-9]},
            "tag": "x",
        }
        if at % 5 == 0:
            entry = {
                "mode": "val",
                "step": at,
                "loss": math.nan if at % 10 else -at * 1e300,
                "time": "0:01:02",
            }
        if at % 7 == 0:
            entry["note, with: commas"] = 'a "quoted", word'
        if at % 11 == 0:
            entry = {"step": at, "loss": str(at), "ok": True, "nothing": None, "empty": {}, "none": []}
        lines.append(json.dumps(entry))
    together = log_of(tmp_path / "a.jsonl", "\n".join(lines) + "\n")
    apart = jsonl.begin(head_of(tmp_path / "a.jsonl", "a.jsonl"))
    for line in lines:  # too few lines at once for a template
        apart.take(line.encode() + b"\n", False)
    assert told(together) == told(apart.log())
    assert sum(len(s) for s in together.series) > 900


def test_runs_appended_to_one_file_are_read_in_order(tmp_path: Path) -> None:
    entry = '{{"data_time": 0.01, "iteration": {}, "loss_cls": 0.5, "lr": 0.02, "total_loss": {}}}\n'
    text = "".join(entry.format(at, 1.5) for at in (19, 39, 59, 19, 39, 59, 79))
    log = log_of(tmp_path / "metrics.json", text)
    assert series(log, "loss").steps.tolist() == [19, 39, 59, 19, 39, 59, 79]


def test_a_first_line_of_another_kind_is_passed(tmp_path: Path) -> None:
    env = json.dumps({"env_info": "sys.platform: linux\nPython: 3.7", "seed": 0, "exp_name": "a.py"})
    entry = '{{"mode": "train", "epoch": {}, "iter": {}, "lr": 0.0025, "loss": 0.5}}\n'
    lines = "".join(entry.format(epoch, at) for epoch in (1, 2) for at in (50, 100, 150))
    assert series(log_of(tmp_path / "a.log.json", env + "\n" + lines), "loss").steps.tolist() == [
        *(50, 100, 150, 200, 250, 300),
    ]


def test_a_step_that_is_the_epoch_in_validation_rows_is_not_the_axis(tmp_path: Path) -> None:
    lines = []
    for epoch in (1, 2, 3):
        for at in range(6):
            step = epoch * 6 + at
            lines.append({"lr": 1e-3, "loss": 0.5, "epoch": epoch, "iter": step, "step": step})
        lines.append({"coco/bbox_mAP": 0.3, "time": 0.2, "step": epoch})
    log = log_of(tmp_path / "scalars.json", "\n".join(map(json.dumps, lines)))
    (found,) = [s for s in log.series if s.logged_as == "coco/bbox_mAP"]
    assert found.steps.tolist() == [11, 17, 23]


def test_a_snapshot_says_how_many_images_it_has_seen(tmp_path: Path) -> None:
    entry = '{{"results": {{"fid50k_full": {}}}, "metric": "fid50k_full", "snapshot_pkl": "n-{:06}.pkl"}}\n'
    log = log_of(
        tmp_path / "metric-fid50k_full.jsonl", "".join(entry.format(90 - at, at * 200) for at in range(30))
    )
    fid = series(log, "val/fid")
    assert (fid.axis, fid.steps.tolist()[:3], fid.values[0]) == ("kimg", [0, 200, 400], 90.0)


def test_short_ticks_are_counted_in_images(tmp_path: Path) -> None:
    mean = '"{}": {{"num": 1, "mean": {}, "std": 0.0}}'
    entry = "{{" + mean.format("Loss/loss", 2.0).replace("{", "{{").replace("}", "}}") + ", "
    entry += '"Progress/kimg": {{"num": 1, "mean": {}, "std": 0.0}}}}\n'
    log = log_of(tmp_path / "stats.jsonl", "".join(entry.format(at * 0.064) for at in range(30)))
    assert (series(log, "loss").axis, series(log, "loss").steps.tolist()[:3]) == ("img", [0, 64, 128])


def test_golden_values_are_curves_and_their_holes_are_no_nan(tmp_path: Path) -> None:
    def curve(**values: object) -> dict[str, object]:
        return {
            "start_step": 1,
            "end_step": 9,
            "step_interval": 1,
            "values": {k[1:]: v for k, v in values.items()},
        }

    document = {
        "lm loss": curve(_1=10.5, _2="nan", _3="nan"),
        "mem-allocated-bytes": curve(_1=1, _2=1, _3="nan"),
    }
    log = log_of(tmp_path / "golden_values.json", json.dumps(document))
    assert [step for step, _ in points(log, "loss")] == [1, 2]
    assert math.isnan(points(log, "loss")[1][1])
    assert log.notes == ("1 steps hold nan for everything, memory included: they were not logged",)
    older = {"lm loss": {"start_step": 0, "end_step": 50, "step_interval": 5, "values": [10.8, 10.5]}}
    assert points(log_of(tmp_path / "g.json", json.dumps(older)), "loss") == [(0, 10.8), (5, 10.5)]


@pytest.mark.parametrize(
    ("document", "axis", "steps"),
    [
        ({"loss": [3, 2, 1], "val_loss": [3, 2, 2]}, "epoch", [0, 1, 2]),
        ({"train": {"loss": [3, 2, 1]}, "val": {"loss": [3, None, 2]}}, "row", [0, 1, 2]),
        ({"history": {"epoch": [1, 2, 3], "loss": [3, 2, 1]}}, "epoch", [1, 2, 3]),
        ({"loss": {"0": 3, "1": 2, "2": 1}, "step": {"0": 5, "1": 10, "2": 15}}, "step", [5, 10, 15]),
    ],
    ids=["Keras", "groups", "a counter", "a data frame"],
)
def test_a_document_of_columns_is_read(tmp_path: Path, document: object, axis: str, steps: list[int]) -> None:
    log = log_of(tmp_path / "history.json", json.dumps(document))
    assert log.format == keras_history.FORMAT
    assert (series(log, "loss").axis, series(log, "loss").steps.tolist()) == (axis, steps)
    assert series(log, "loss").values.tolist() == [3, 2, 1]


def test_a_long_document_of_columns_is_recognised_by_its_beginning(tmp_path: Path) -> None:
    document = {"loss": [1 / (at + 1) for at in range(9000)], "lr": [0.1] * 9000}
    assert len(series(log_of(tmp_path / "history.json", json.dumps(document)), "loss")) == 9000


@pytest.mark.parametrize(
    "document",
    [
        {"lr": [0.1, 0.01], "milestones": [30, 60], "epochs": 90},
        {"betas": [0.9, 0.999], "loss": "l1", "lr": 1e-4, "batch": 8, "seed": 1},
        {"epoch": 3.0, "name": "a", "lr": 0.1},
    ],
)
def test_settings_are_no_log(tmp_path: Path, document: object) -> None:
    with pytest.raises(UnreadableFile, match="not a log format known here"):
        log_of(tmp_path / "config.json", json.dumps(document))


def test_final_values_are_one_point_at_the_last_epoch() -> None:
    log = read_log(RECORDED / "hf/all_results.json")
    assert points(log, "val/loss") == [(2, 3.2492516040802)]
    assert series(log, "loss").aggregation is Aggregation.RUNNING_MEAN


# --- as a file grows ----------------------------------------------------------------------------------------


def table_text(rows: int) -> bytes:
    lines = [
        f"{at},{'' if at % 3 else at / 7!r},{'nan' if at % 50 == 9 else at * 1e-5!r}\n" for at in range(rows)
    ]
    return ("step,loss,lr\n" + "".join(lines)).encode()


def json_text(rows: int) -> bytes:
    return "".join(
        json.dumps({"step": at, "loss": at / 7, **({"val": {"loss": math.nan}} if at % 9 == 0 else {})})
        + "\n"
        for at in range(rows)
    ).encode()


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 4000), min_size=1, max_size=30), kind=st.sampled_from(["csv", "jsonl"]))
def test_pieces_of_any_size_tell_the_same(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], kind: str
) -> None:
    data = table_text(600) if kind == "csv" else json_text(300)
    path = tmp_path_factory.getbasetemp() / f"pieces.{kind}"
    whole = log_of(path, data)
    reading = (csv_table if kind == "csv" else jsonl).begin(head_of(path, path.name))
    at = held = 0
    while at < len(data):
        size = sizes[held % len(sizes)]
        held += 1
        piece = data[at : at + size]
        taken = reading.take(piece, at + size >= len(data))
        at += taken
        if taken == 0:
            sizes = [size * 2 for size in sizes]  # a line longer than a piece comes again with more behind it
    assert told(reading.log()) == told(whole)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_growing_file_is_read_on_and_half_a_line_waits(tmp_path: Path, kind: str) -> None:
    data = table_text(100) if kind == "csv" else json_text(100)
    path = tmp_path / f"a.{kind}"
    path.write_bytes(data)
    reading = (csv_table if kind == "csv" else jsonl).begin(head_of(path, path.name))
    half = data.index(b"\n", len(data) // 2) + 3
    taken = reading.take(data[:half], False)
    assert data[:taken].endswith(b"\n")
    before = len(series(reading.log(), "loss"))
    assert reading.take(data[taken:], True) == len(data) - taken
    assert told(reading.log()) == told(read_log(path, path.name))
    assert len(series(reading.log(), "loss")) > before


def test_with_and_without_the_fast_extra_a_table_reads_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    lines = [f"{at},{at / 7!r},{'' if at % 4 else repr(-at * 1e-7)}\n" for at in range(6000)]
    odd = {
        1500: "1500,1e400,nan\n",
        2500: "2500,oops,1\n",
        3500: "3500,1\n",
        4500: "step,loss,lr\n",
        5500: "\n",
    }
    text = "step,loss,lr\n" + "".join(odd.get(at, line) for at, line in enumerate(lines))
    fast = [log_of(tmp_path / "a.csv", text), log_of(tmp_path / "b.csv", "step,loss,lr\n" + "".join(lines))]
    monkeypatch.setattr(_fast_columns, "_polars", lambda: None)
    core = [read_log(tmp_path / name, name) for name in ("a.csv", "b.csv")]
    assert [told(log) for log in fast] == [told(log) for log in core]


def test_the_fast_extra_tells_a_nan_from_an_empty_cell(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    rows = 9000
    kept = {"loss": 3, "acc": 5, "lr": 1}  # every so many rows; the others are empty
    cells = ["nan" if at % 15 == 0 else repr(at / 7) for at in range(rows)]
    lines = [
        ",".join([str(at), *(cells[at] if at % every == 0 else "" for every in kept.values()), ""])
        for at in range(rows)
    ]
    block = ("\n".join(lines) + "\n").encode()
    found = _fast_columns.fast_columns(block, ",", 5)
    assert found is not None
    assert found.rows == rows
    for (values, places), every in zip(found.columns[1:4], kept.values(), strict=True):
        assert repr(values.tolist()) == repr([float(cell) for cell in cells[::every]])
        assert (places is _fast_columns.FILLED) == (every == 1)
        assert places is None or places.tolist() == [*range(0, rows, every)]
    assert len(found.columns[4][0]) == 0  # a column without a value
    log = log_of(tmp_path / "metrics.csv", b"step,loss,acc,lr,val_loss\n" + block)
    assert len(series(log, "loss")) == rows // 3
    assert series(log, "loss").lines == (2, rows - 1)
    assert np.isnan(series(log, "loss").values).sum() == rows // 15


@pytest.mark.parametrize("names", [("step", "loss", "lr"), ("step", "N", "NaNs")])
def test_nan_goes_to_the_fast_extra_as_null(names: tuple[str, str, str]) -> None:
    pytest.importorskip("polars")
    values = [(float(at), float("nan") if at % 9 == 0 else at / 7, -at * 1e-7) for at in range(3000)]
    block = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in values).encode()
    found = _fast_columns.fast_records(block, names, with_nan=True)
    assert found is not None
    assert repr(found.T.tolist()) == repr([[*row] for row in values])
    with_null = block.replace(b"NaN", b"null", 1)
    assert _fast_columns.fast_records(with_null, names, with_nan=True) is None


def test_with_and_without_the_fast_extra_json_lines_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    lines = [f'{{"step": {at}, "loss": {at / 7!r}, "lr": {-at * 1e-7!r}}}\n' for at in range(6000)]
    holed = [line.replace(": -", ': NaN, "x": -') if at % 50 == 9 else line for at, line in enumerate(lines)]
    odd = [
        *holed[:4000],
        "cut {\n",
        '{"step": 1, "lr": true, "loss": "2"}\n',
        "\n",
        *holed[4000:],
        '{"step": 6',
    ]
    texts = {"a.jsonl": lines, "b.jsonl": holed, "c.jsonl": odd}

    def pieces(name: str) -> Log:
        reading = jsonl.begin(head_of(tmp_path / name, name))
        data, at = (tmp_path / name).read_bytes(), 0
        while at < len(data):  # more than one block: the first one teaches the names
            at += reading.take(data[at : at + 100_000], at + 100_000 >= len(data))
        return reading.log()

    for name, text in texts.items():
        (tmp_path / name).write_text("".join(text))
    fast = [pieces(name) for name in texts]
    monkeypatch.setattr(_fast_columns, "_polars", lambda: None)
    core = [pieces(name) for name in texts]
    assert [told(log) for log in fast] == [told(log) for log in core]
    assert [log.notes for log in fast] == [log.notes for log in core]
    assert fast[2].notes[-1] == "2 lines are not JSON objects and were passed over"


# --- hostile ------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                *(
                    b"step,loss\n",
                    b"1,2\n",
                    b"3,\n",
                    b'"4","5"\n',
                    b'"a,b",6\n',
                    b"#\n",
                    b"# step,loss,lr\n",
                    b"\n",
                ),
                *(
                    b",,,\n",
                    b"7;8\n",
                    b" 9 , 1e5 \n",
                    b'{"step": 1, "loss": 2}\n',
                    b'{"a": {"b": [1, {}]}}\n',
                ),
                *(
                    b'{"step": 1, "loss": NaN}\n' * 20,
                    b'{"step": "x,y", "loss": 2}\n' * 20,
                    b"\xff\xfe",
                    b"\0",
                ),
            ]
        )
        | st.binary(max_size=8),
        max_size=40,
    ),
    module=st.sampled_from([csv_table, jsonl, yolo_results]),
    size=st.integers(1, 200),
)
def test_any_pieces_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], module: object, size: int
) -> None:
    data = b"".join(pieces)
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes(data)
    reading = module.begin(head_of(path, path.name))  # type: ignore[attr-defined]
    at = 0
    while at < len(data):
        end = min(at + size, len(data))
        taken = reading.take(data[at:end], end == len(data))
        size = size if taken else size * 2
        at += taken
    try:
        log = reading.log()
    except UnreadableFile:
        return
    for one in log.series:
        assert len(one.steps) == len(one.values)
        assert (
            one.lines is None
            or 1 <= one.lines[0] <= one.lines[1] <= data.count(b"\n") + data.count(b"\r") + 1
        )


def test_very_wide_rows_are_read_in_part(tmp_path: Path) -> None:
    names = ["step", "loss", *(f"c{at}" for at in range(100_000))]
    rows = [",".join(names), *(",".join([str(at), "2.5", *["0.123456789"] * 100_000]) for at in range(3))]
    log = log_of(tmp_path / "a.csv", "\n".join(rows))
    assert points(log, "loss") == [(0, 2.5), (1, 2.5), (2, 2.5)]
    assert any("names" in note for note in log.notes)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_line_of_fifty_megabytes_does_not_spoil_the_others(tmp_path: Path, kind: str) -> None:
    if kind == "csv":
        good, long = [f"{at},{at}.5\n" for at in range(100)], "5," + "1," * (25 << 20) + "\n"
        text = "step,loss\n" + "".join(good) + long + "".join(good)
    else:
        good = [f'{{"step": {at}, "loss": {at}.5}}\n' for at in range(100)]
        long = '{"step": 5, "x": [' + "1," * (25 << 20) + '1], "loss": 1}\n'
        text = "".join(good) + long + "".join(good)
    log = log_of(tmp_path / f"a.{kind}", text)
    assert len(series(log, "loss")) >= 200
    assert np.isfinite(series(log, "loss").values).all()


# --- what a record says of itself -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"event": "eval"},
        {"event": "eval_step"},
        {"event_type": "validation"},
        {"phase": "val_epoch"},
        {"type": "on_validation_end"},
        {"msg": "evaluated the model"},
        {"message": "Validation done", "level": "INFO"},
    ],
)
def test_a_record_says_that_it_is_of_validation(tmp_path: Path, said: dict[str, str]) -> None:
    key = next(iter(said))
    train = [{"step": at, "loss": 1.0 / at, "acc": 0.5, key: "train step"} for at in range(1, 40)]
    rows = [*train, {"step": 40, "loss": 0.5, "acc": 0.75, **said}]
    log = log_of(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert len(series(log, "loss")) == 39
    assert points(log, "val/loss") == [(40, 0.5)]
    assert points(log, "val/accuracy") == [(40, 0.75)]


def test_a_record_of_validation_keeps_the_roles_that_its_names_say(tmp_path: Path) -> None:
    rows = [
        {"event": "validation", "epoch": at, "train_loss": 1.0 / at, "val_loss": 2.0 / at}
        for at in range(1, 9)
    ]
    log = log_of(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert series(log, "loss").logged_as == "train_loss"
    assert series(log, "val/loss").logged_as == "val_loss"


@pytest.mark.parametrize("message", ["training before validation", "checkpoint saved", "latest values"])
def test_other_messages_say_nothing_of_validation(tmp_path: Path, message: str) -> None:
    rows = [{"step": at, "loss": 1.0 / at, "msg": message} for at in range(1, 9)]
    log = log_of(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert [s.name for s in log.series] == ["loss"]


def test_a_logger_wraps_what_it_is_given_and_adds_its_own(tmp_path: Path) -> None:
    def line(message: str, extra: dict[str, float]) -> str:
        own = {"line": 74, "thread": {"id": 1400, "name": "MainThread"}, "process": {"id": 3, "name": "M"}}
        level = {"icon": "i", "name": "INFO", "no": 20}
        time = {"repr": "2026-11-15 13:30:58", "timestamp": 1794749458.2}
        record = {"elapsed": {"seconds": 1.4}, "extra": extra, "level": level, "message": message} | own
        return json.dumps({"text": f"13:30 - {message}\n", "record": record | {"time": time}})

    lines = [line("train", {"step": at, "loss": 1.0 / at}) for at in range(1, 9)]
    lines.append(line("eval", {"step": 8, "loss": 0.5, "acc": 0.9}))
    log = log_of(tmp_path / "a.jsonl", "\n".join(lines) + "\n")
    assert {s.name for s in log.series} == {"loss", "val/loss", "val/accuracy"}
    assert series(log, "loss").steps.tolist() == [*range(1, 9)]
    assert log.started == 1794749458.2


def test_a_counter_of_batches_is_counted_on(tmp_path: Path) -> None:
    rows = [{"batch": at, "loss": 1.0 / (at + 1)} for _ in range(3) for at in range(10)]
    log = log_of(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert series(log, "loss").steps.tolist() == [*range(30)]
    assert log.notes == ("batch begins again 2 times: counted on",)


@pytest.mark.parametrize(
    ("rows", "losses"),
    [
        (["1;1,2878", "2;0,9", "3;0,25"], [1.2878, 0.9, 0.25]),
        (["1;2,103", "2;1,954", "3;1,201"], [2.103, 1.954, 1.201]),
        (["1.000;1.234,5", "2.000;0,5", "3.000;1,5e-3"], [1234.5, 0.5, 1.5e-3]),
        (["1;1,234.5", "2;12.75", "3;0.5"], [1234.5, 12.75, 0.5]),
    ],
)
def test_numbers_between_semicolons_are_read_as_they_are_written(
    tmp_path: Path, rows: list[str], losses: list[float]
) -> None:
    log = log_of(tmp_path / "a.csv", "step;loss\n" + "\n".join(rows) + "\n")
    assert series(log, "loss").values.tolist() == losses
    assert series(log, "loss").steps.tolist() in ([1, 2, 3], [1000, 2000, 3000])


@pytest.mark.parametrize(
    "text",
    [
        "idx,y_true,y_pred,loss\n" + "".join(f"{at},0,1,0.{at}\n" for at in range(9)),
        "image_path,prediction,loss\n" + "".join(f"{at}.png,1,0.{at}\n" for at in range(9)),
        "timestamp,utilization.gpu [%],memory.used [MiB]\n"
        + "".join(f"2026/11/03 22:00:0{at}.000,9{at} %,1200{at} MiB\n" for at in range(9)),
        "              precision    recall  f1-score   support\n\n"
        "         cat       0.91      0.93      0.92       100\n"
        "         dog       0.89      0.85      0.87       100\n",
    ],
)
def test_a_table_whose_rows_are_no_steps_is_refused_with_the_reason(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFile, match=r"not a log|no log of training|classification report"):
        log_of(tmp_path / "a.csv", text)


def test_predictions_beside_a_counter_are_a_log(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", "step,loss,y_pred\n1,0.5,1\n2,0.4,1\n3,0.3,1\n")
    assert series(log, "loss").steps.tolist() == [1, 2, 3]


def test_a_column_of_events_says_which_rows_are_validation(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.csv", "step,event,loss\n1,train,0.5\n2,train,0.4\n2,eval,0.45\n3,train,0.3\n")
    assert series(log, "loss").steps.tolist() == [1, 2, 3]
    assert points(log, "val/loss") == [(2, 0.45)]


@pytest.mark.parametrize(
    ("name", "axis"), [("epoch_{}", "epoch"), ("Epoch {}", "epoch"), ("step_{}", "step"), ("{}", "step")]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_records_by_their_epoch_are_read(tmp_path: Path, name: str, axis: str, wrapped: bool) -> None:
    document: dict[str, object] = {
        name.format(at): {"train_loss": 1.0 / (at + 1), "val_loss": 2.0 / (at + 1)} for at in range(5)
    }
    if wrapped:
        document = {"seed": 1, "history": document, "best": {"val_loss": 0.4}}
    log = log_of(tmp_path / "results.json", json.dumps(document, indent=1))
    assert log.format == "JSON records"
    for wanted, first in (("loss", 1.0), ("val/loss", 2.0)):
        assert points(log, wanted) == [(at, first / (at + 1)) for at in range(5)]
        assert series(log, wanted).axis == axis


def test_records_by_number_that_count_themselves_are_read_so(tmp_path: Path) -> None:
    document = {str(at): {"step": 10 * at, "loss": 1.0 / (at + 1)} for at in range(5)}
    log = log_of(tmp_path / "frame.json", json.dumps(document))
    assert series(log, "loss").steps.tolist() == [0, 10, 20, 30, 40]


def test_columns_that_only_say_a_role_are_losses_where_they_fall_as_one(tmp_path: Path) -> None:
    rows = "".join(f"{i},{2 / (i + 1):.4f},{2.2 / (i + 1):.4f},{i}\n" for i in range(12))
    (tmp_path / "log.csv").write_text(f"step,train,test,other\n{rows}", encoding="utf-8")
    names = {series.logged_as: series.name for series in read_log(tmp_path / "log.csv", "log.csv").series}
    assert (names["train"], names["test"], names["other"]) == ("loss", "val/loss", "other")
