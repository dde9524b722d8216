"""What the readers of boosting rounds, drawn tables, notebooks and tutorials make of a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead, UnreadableFile
from stethoscope.logs import formats, head_of, read_log, read_with
from stethoscope.read import read
from stethoscope.run import EventKind, Log
from tests.fixtures.logs.make import HERE
from tests.logs.reading import PRINTED, RECORDED, points, read_under_another_name, series, written

OWN = [
    (RECORDED / "boosting" / "xgboost.log", "boosting rounds"),
    (RECORDED / "boosting" / "xgboost_cv.log", "boosting rounds"),
    (RECORDED / "boosting" / "lightgbm.log", "boosting rounds"),
    (RECORDED / "boosting" / "catboost.log", "boosting rounds"),
    (RECORDED / "tables" / "rich.log", "printed table"),
    (RECORDED / "tables" / "tabulate.log", "printed table"),
    (RECORDED / "tables" / "spacy.log", "printed table"),
    (PRINTED / "opennmt.log", "OpenNMT log"),
    (PRINTED / "rsl_rl.log", "RSL-RL blocks"),
    (PRINTED / "seq2seq.log", "PyTorch tutorial lines"),
    (RECORDED / "notebook" / "stream.ipynb", "Jupyter notebook"),
    (RECORDED / "notebook" / "table.ipynb", "Jupyter notebook"),
]


def names(log: Log) -> list[str]:
    return sorted(s.name for s in log.series)


@pytest.mark.parametrize(("path", "form"), OWN, ids=[f"{p.parent.name}-{p.stem}" for p, _ in OWN])
def test_a_format_is_recognised_under_any_name(path: Path, form: str, tmp_path: Path) -> None:
    read_under_another_name(path, form, tmp_path)


STREAMED = [(path, form) for path, form in OWN if form != "Jupyter notebook"]


@pytest.mark.parametrize(("path", "form"), STREAMED, ids=[f"{p.parent.name}-{p.stem}" for p, _ in STREAMED])
def test_chunks_of_any_size_give_the_same(path: Path, form: str) -> None:
    (module,) = [module for module in formats() if form == module.FORMAT]
    data, head = path.read_bytes(), head_of(path, path.name)
    whole = read_with(module, head)
    for size in (1, 97, 4096):
        reading, rest = module.begin(head), b""
        for at in range(0, len(data), size):
            rest += data[at : at + size]
            rest = rest[reading.take(rest, at + size >= len(data)) :]
        log = reading.log()
        assert [(s.name, list(s)) for s in log.series] == [(s.name, list(s)) for s in whole.series]


def test_other_formats_leave_the_fixtures_to_their_owners() -> None:
    own = {form for _, form in OWN} - {"printed table"}
    mine = {path for path, _ in OWN}
    for path in sorted(HERE.rglob("*")):
        if path.is_file() and path not in mine and path.suffix in {".log", ".txt", ".csv", ".json", ".jsonl"}:
            head = head_of(path, path.name)
            stolen = [m.FORMAT for m in formats() if m.FORMAT in own and m.recognise(head) >= 0.7]
            assert not stolen or read_log(path).format not in own, path


# --- boosting -----------------------------------------------------------------------------------------


def test_xgboost_gives_the_loss_of_both_sets_and_the_other_measure() -> None:
    log = read_log(RECORDED / "boosting" / "xgboost.log")
    assert points(log, "loss")[:2] == [(0, 0.898), (1, 0.77167)]
    assert points(log, "val/loss")[-1] == (11, 0.60126)
    assert points(log, "val/merror")[0] == (0, 0.315)
    assert names(log) == ["loss", "train/merror", "val/loss", "val/merror"]


def test_the_spread_of_folds_is_not_taken_for_the_mean() -> None:
    log = read_log(RECORDED / "boosting" / "xgboost_cv.log")
    assert points(log, "train/rmse")[0] == (0, 1.03113)
    assert points(log, "val/loss")[0] == (0, 4.86352)
    assert series(log, "val/loss").logged_as == "test-tweedie-nloglik@1.5"


def test_the_best_round_that_lightgbm_prints_again_is_one_round() -> None:
    log = read_log(RECORDED / "boosting" / "lightgbm.log")
    assert [step for step, _ in points(log, "loss")] == list(range(1, 13))
    assert points(log, "val/loss")[0] == (1, 1.02088)


def test_lightgbms_command_line(tmp_path: Path) -> None:
    text = "".join(
        f"[LightGBM] [Info] Iteration:{n}, training l2 : {1 / n:.4f}\n"
        f"[LightGBM] [Info] Iteration:{n}, valid_1 l2 : {1 / n + 0.1:.4f}\n"
        for n in range(1, 6)
    )
    log = written(tmp_path, text)
    assert points(log, "loss")[1] == (2, 0.5)
    assert points(log, "val/loss")[1] == (2, 0.6)


def test_catboost_gives_the_loss_of_both_sets() -> None:
    log = read_log(RECORDED / "boosting" / "catboost.log")
    assert points(log, "loss")[0] == (0, 0.9236012)
    assert points(log, "val/loss")[-1] == (14, 0.5365923)
    assert names(log) == ["loss", "val/loss"]


def test_a_measure_whose_best_is_the_highest_is_no_loss(tmp_path: Path) -> None:
    values = [(0.70, 0.63, 0.63), (0.83, 0.72, 0.72), (0.87, 0.70, 0.72), (0.92, 0.71, 0.72)]
    text = "".join(
        f"{n * 2}:\tlearn: {a:.7f}\ttest: {b:.7f}\tbest: {c:.7f} (2)\ttotal: 57.1ms\tremaining: 1.66s\n"
        for n, (a, b, c) in enumerate(values)
    )
    assert names(written(tmp_path, text)) == ["train/score", "val/score"]


def test_of_sets_without_names_the_last_is_the_validation(tmp_path: Path) -> None:
    text = "".join(
        f"[{n}]\tvalidation_0-logloss:{0.6 - n / 10:.5f}\tvalidation_1-logloss:{0.65 - n / 20:.5f}\n"
        for n in range(5)
    )
    log = written(tmp_path, text)
    assert points(log, "val/loss")[0] == (0, 0.65)
    assert points(log, "val/loss/validation_0")[0] == (0, 0.6)
    assert any("no names of their own" in note for note in log.notes)


# --- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", ["rich", "tabulate"])
def test_a_table_that_is_drawn_with_bars(drawn: str) -> None:
    log = read_log(RECORDED / "tables" / f"{drawn}.log")
    assert points(log, "loss") == [(1, 2.0), (2, 1.0), (3, 0.6667), (4, 0.5), (5, 0.4)]
    assert points(log, "val/loss")[-1] == (5, 0.42)
    assert points(log, "val/accuracy")[0] == (1, 40.0)
    assert series(log, "loss").axis == "epoch"
    assert series(log, "val/accuracy").logged_as == "Val Acc (%)"


def test_spacys_table_has_sums_for_losses_and_scores_of_the_development_set() -> None:
    log = read_log(RECORDED / "tables" / "spacy.log")
    assert points(log, "loss") == [(10, 2.19), (20, 1.69), (30, 1.27), (40, 0.94), (50, 0.67), (60, 0.48)]
    assert points(log, "val/score")[0] == (0, 1.0)
    assert points(log, "epoch")[-1] == (60, 3.0)
    assert any("sums over the steps" in note for note in log.notes)


def test_of_spacys_losses_the_one_that_is_minimised_is_the_loss(tmp_path: Path) -> None:
    text = (
        "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE \n"
        "---  ------  ------------  --------  ------  ------  ------  ------\n"
        "  0       0          0.00     36.92    0.00    0.00    0.00    0.00\n"
        "  0     200         66.20   2037.24   50.11   52.00   48.35    0.50\n"
        "  1     400        101.03   1187.55   60.41   63.01   58.02    0.60\n"
    )
    log = written(tmp_path, text)
    assert points(log, "loss") == [(200, 2037.24), (400, 1187.55)]
    assert points(log, "loss/tok2vec")[0] == (200, 66.2)
    assert points(log, "val/ents_f")[-1] == (400, 60.41)


def test_a_table_copied_from_a_notebook_is_read_below_its_bar(tmp_path: Path) -> None:
    text = "[30/30 12:34, Epoch 3/3]\nStep\tTraining Loss\tValidation Loss\tF1\n" + "".join(
        f"{n * 10}\t{'No log' if n == 1 else 2 / n}\t{2.2 / n:.4f}\t0.{n}5\n" for n in (1, 2, 3, 4)
    )
    log = written(tmp_path, text)
    assert points(log, "loss")[0] == (20, 1.0)
    assert points(log, "val/loss")[0] == (10, 2.2)
    assert points(log, "val/f1")[-1] == (40, 0.45)


def test_a_table_that_sums_up_does_not_hide_the_steps(tmp_path: Path) -> None:
    steps = "".join(f"step {n} loss {2 / n:.4f} lr 1e-3\n" for n in range(1, 80))
    log = written(tmp_path, steps + (RECORDED / "tables" / "rich.log").read_text(encoding="utf-8"))
    assert len(series(log, "loss")) == 79


@pytest.mark.parametrize(
    "text",
    [
        "[3/3 00:12, Epoch 3/3]\nEpoch\tTraining Loss\n1\t2.0\n2\t1.0\n3\t0.5\n",
        "history\n+-------+-----+\n| Epoch | Loss|\n+-------+-----+\n"
        "|   1   | 2.0 |\n|   2   | 1.0 |\n|   3   | 0.5 |\n",
        "done\n   epoch  train_loss  val_loss\n"
        "0      1      2.0000    2.1000\n1      2      1.0000    1.1000\n2      3      0.5000    0.6000\n",
    ],
    ids=["two between tabs", "two between bars", "pandas"],
)
def test_small_tables(text: str, tmp_path: Path) -> None:
    log = written(tmp_path, text)
    assert points(log, "loss") == [(1, 2.0), (2, 1.0), (3, 0.5)]
    assert series(log, "loss").axis == "epoch"


CARD = (
    "# my-model\n\nThis model is a fine-tuned version of another.\n\n### Training results\n\n"
    "| Training Loss | Epoch | Step | Validation Loss | Accuracy |\n"
    "|:-------------:|:-----:|:----:|:---------------:|:--------:|\n"
    "| No log        | 1.0   | 40   | 0.6931          | 0.5512   |\n"
    "| 0.7012        | 2.0   | 80   | 0.6012          | 0.6820   |\n"
    "| 0.5533        | 3.0   | 120  | 0.5544          | 0.7341   |\n"
)


def test_a_model_card_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text(CARD)
    run = read(tmp_path / "card.md")
    (log,) = run.logs
    assert points(log, "loss") == [(80, 0.7012), (120, 0.5533)]
    assert points(log, "val/loss")[0] == (40, 0.6931)
    assert points(log, "val/accuracy")[-1] == (120, 0.7341)
    with pytest.raises(NothingToRead):
        read(tmp_path)


def test_a_document_without_a_table_of_training_is_none_even_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(
        "# Notes\n\n| Model | Size | Params |\n|---|---|---|\n| a | 3 | 5 |\n| b | 4 | 6 |\n"
    )
    with pytest.raises(NothingToRead):
        read(tmp_path / "notes.md")


# --- notebooks ----------------------------------------------------------------------------------------


def notebook(*cells: list[dict[str, object]]) -> str:
    coded = [{"cell_type": "code", "source": "train()", "metadata": {}, "outputs": cell} for cell in cells]
    return json.dumps({"cells": coded, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def printed(text: str) -> dict[str, object]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def test_the_last_cell_that_trained_is_the_log_of_a_notebook() -> None:
    log = read_log(RECORDED / "notebook" / "stream.ipynb")
    assert points(log, "loss")[:2] == [(10, 1.5811), (20, 1.118)]
    assert len(series(log, "loss")) == 6  # the error quotes a print of a loss
    assert [(event.kind, event.step) for event in log.events] == [(EventKind.OUT_OF_MEMORY, 60)]
    assert any("passed over: 3" in note for note in log.notes)


def test_a_table_that_a_notebook_displays_is_read() -> None:
    log = read_log(RECORDED / "notebook" / "table.ipynb")
    assert points(log, "loss") == [(40, 1.0), (60, 0.666667), (80, 0.5)]
    assert points(log, "val/loss")[0] == (20, 2.2)
    assert points(log, "val/accuracy")[-1] == (80, 0.8)


def test_a_notebook_without_training_is_a_document(tmp_path: Path) -> None:
    text = "".join(f"image {n} width {640 + n}\n" for n in range(9))
    (tmp_path / "look.ipynb").write_text(notebook([printed(text)], [printed("loss 0.3\n")], []))
    with pytest.raises(UnreadableFile, match="document"):
        read_log(tmp_path / "look.ipynb")
    (tmp_path / "run.log").write_text("".join(f"step {n} loss {1 / n:.4f}\n" for n in range(1, 20)))
    run = read(tmp_path)
    assert [Path(log.file).name for log in run.logs] == ["run.log"]
    assert not run.unread


@pytest.mark.parametrize(
    "text",
    [
        '{"nbformat": 4, "cells": [',
        '{"nbformat": 4, "cells": [1, null, {"outputs": 3}, {"outputs": [1, {"text": {}}]}]}',
        '{"nbformat": 4, "cells": {"a": 1}, "worksheets": [3]}',
        '{"nbformat": 4, "cells": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"nbformat": ' + "9" * 5_000 + ', "cells": []}',
    ],
    ids=["cut", "odd", "dicts", "deep", "long"],
)
def test_no_notebook_is_too_odd(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_text(text)
    with pytest.raises(UnreadableFile):
        read_log(tmp_path / "x.ipynb")


# --- other programs -----------------------------------------------------------------------------------


def test_opennmt_prints_its_loss_as_cross_entropy() -> None:
    log = read_log(PRINTED / "opennmt.log")
    assert points(log, "loss")[:2] == [(50, 7.6), (100, 6.5)]
    assert points(log, "lr")[0] == (50, 1e-5)
    assert points(log, "throughput")[0] == (50, 11001.0)
    assert points(log, "val/accuracy") == [(150, 11.0), (300, 17.0)]
    assert len(series(log, "train/perplexity")) == 6  # without the means since the beginning
    assert log.total_steps == 100_000


def test_all_values_of_an_rsl_rl_block_stand_at_its_iteration() -> None:
    log = read_log(PRINTED / "rsl_rl.log")
    assert points(log, "loss/value_function")[:2] == [(0, 5.0), (1, 2.5)]
    assert points(log, "train/reward") == [(1, -2.0), (2, -1.0), (3, 0.0)]
    assert points(log, "Total timesteps")[-1] == (3, 393216.0)
    assert points(log, "base_velocity/error_vel_yaw_mean")[1] == (1, 0.9)
    assert log.total_steps == 300


def test_lines_of_pytorch_tutorials(tmp_path: Path) -> None:
    log = read_log(PRINTED / "seq2seq.log")
    assert points(log, "loss")[:2] == [(5, 2.32), (10, 1.856)]
    told = "".join(
        f"{n * 5000} {n * 5}% (0m {n * 7}s) {2 / n:.4f} {name}\n"
        for n, name in enumerate(("Rumbold / Irish x (English)", "Abe / Japanese v", "Li 2 / Korean v"), 1)
    )
    assert points(written(tmp_path, told), "loss") == [(5000, 2.0), (10000, 1.0), (15000, 0.6667)]
    told = "".join(f"{n} ({n * 10}%): \t average batch loss = {1 / n}\n" for n in range(1, 5))
    log = written(tmp_path, told)
    assert points(log, "loss")[1] == (2, 0.5)
    assert series(log, "loss").axis == "epoch"
