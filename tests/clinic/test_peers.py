"""Other tools are asked about the same runs: their logs, their answers, and how the figures compare.

The tools themselves are asked where `STETHOSCOPE_PEERS` names a folder with their virtual environments.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from pathlib import Path

import pytest

from stethoscope.causes import catalogue
from stethoscope.clinic.faultbench import asking_peers, comparing
from stethoscope.clinic.faultbench.asking_peers import Program, ask_peers, missing
from stethoscope.clinic.faultbench.measured import Measured
from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion, either
from stethoscope.clinic.faultbench.peer import NO_OPINION, Peer, opinion_of, peers
from stethoscope.clinic.faultbench.plain_log import CSV, TRAINER_STATE, Grain, folder_of, write_plain
from stethoscope.read import read
from tests.clinic.test_bench import fault, label

INSTALLED = Path(os.environ.get("STETHOSCOPE_PEERS", "no such folder"))
WITH_PACKAGE = [entry for entry in peers() if entry.peer.package]

every_peer = pytest.mark.parametrize("entry", WITH_PACKAGE, ids=lambda entry: entry.name)


def logged(folder: Path, losses: list[float], scores: dict[int, float]) -> Path:
    """The plain log of a run that logged its loss, its rate and its gradient at every step."""
    (folder / "run").mkdir(parents=True)
    lines = ["step,train_loss,val_psnr,lr,grad_norm"]
    for step, loss in enumerate(losses, 1):
        lines.append(f"{step},{loss},{scores.get(step, '')},0.001,1.0")
    (folder / "run" / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_plain(read(folder / "run"), folder / "plain")
    return folder / "plain"


def test_a_plain_log_has_the_names_that_everybody_knows(tmp_path: Path) -> None:
    plain = logged(tmp_path, [4.0, 2.0, math.nan, 1.0], {2: 10.0, 4: 20.0})
    with open(folder_of(plain, Grain.STEP) / CSV, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["loss"] for row in rows] == ["4.0", "2.0", "nan", "1.0"]
    # No validation loss was logged; a PSNR of 20 dB is a squared error of a hundredth.
    assert [row["eval_loss"] for row in rows] == ["", "0.1", "", "0.01"]
    assert rows[0]["lr"] == "0.001"


def test_a_row_for_each_evaluation_has_the_means_since_the_last(tmp_path: Path) -> None:
    scores = {step: float(step) for step in range(2, 21, 2)}
    plain = logged(tmp_path, [float(step) for step in range(1, 21)], scores)
    with open(folder_of(plain, Grain.EVALUATION) / CSV, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(scores)
    assert [float(row["loss"]) for row in rows[:2]] == [1.5, 3.5]


def test_the_trainer_state_keeps_evaluations_in_lines_of_their_own(tmp_path: Path) -> None:
    plain = logged(tmp_path, [4.0, 2.0], {2: 10.0})
    state = json.loads((folder_of(plain, Grain.STEP) / TRAINER_STATE).read_text(encoding="utf-8"))
    assert [sorted(line) for line in state["log_history"]] == [
        ["grad_norm", "learning_rate", "loss", "step"],
        ["grad_norm", "learning_rate", "loss", "step"],
        ["eval_loss", "eval_psnr", "step"],
    ]


def test_a_finding_that_may_stand_for_several_causes_names_all_of_them() -> None:
    means = {"diverged": ("learning-rate-too-high", "corrupt-batch"), "odd": ()}
    said = opinion_of([("odd", "error"), ("diverged", "info")], "error", "warning", means)
    assert said.verdict == "sick"
    assert said.findings == ("odd", "diverged")
    assert said.names({"corrupt-batch"}, 1)
    assert not said.names({"overfitting"}, 1)
    assert opinion_of([("diverged", "warning")], "error", "warning", means).verdict == "at-risk"
    assert opinion_of([("diverged", "info")], "error", "warning", means).verdict == "healthy"


@every_peer
def test_findings_of_a_peer_stand_for_causes_that_there_are(entry: asking_peers.PeerEntry) -> None:
    known = {one.name for one in catalogue()} | {
        cause for operator in operators().values() for cause in operator.acceptable
    }
    module = sys.modules[entry.peer.understood.__module__]
    meant = {cause for causes in module.MEANS.values() for cause in causes}
    assert meant <= known


def test_guesses_are_the_same_whenever_they_are_asked_for() -> None:
    guesses = {entry.name: entry.peer.guess for entry in peers() if entry.peer.guess}
    assert set(guesses) == {"prior-only", "random-ranking"}
    for guess in guesses.values():
        assert guess("gratings--healthy--1") == guess("gratings--healthy--1")
        assert len(guess("gratings--healthy--1").causes) > 20
    assert guesses["random-ranking"]("a").causes != guesses["random-ranking"]("b").causes


@pytest.mark.parametrize("program", ["os:abort", "signal:pause", "math:sqrt"])
def test_a_program_that_breaks_or_hangs_has_no_opinion(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_peers, "PATIENCE", 0.2)
    peer = Peer("numpy", "", program, lambda folder: (), WITH_PACKAGE[0].peer.understood)
    with Program(Path(sys.executable), peer) as asked:
        assert asked.version
        assert [asked.opinion(tmp_path), asked.opinion(tmp_path)] == [NO_OPINION, NO_OPINION]


def test_a_peer_that_is_not_installed_is_told_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "losslint" / "bin").mkdir(parents=True)
    (tmp_path / "losslint" / "bin" / "python").symlink_to(sys.executable)  # and no package
    told = list(missing(tmp_path))
    assert len(told) == len(WITH_PACKAGE)
    assert any("runmedic" in line and "pip install runmedic==" in line for line in told)
    assert [one.name for one in ask_peers([], tmp_path, tmp_path, 1)] == ["prior-only", "random-ranking"]


def test_the_table_says_by_how_much_we_are_ahead() -> None:
    sick, well = label(0, fault()), label(1)
    ours = {sick.name: Opinion("sick", (("labels-wrong", 0.9),)), well.name: Opinion("healthy")}
    other = {
        sick.name: Opinion("healthy", ((either(("overfitting", "labels-wrong")), 0.0),)),
        well.name: Opinion("at-risk"),
    }
    asked = [asking_peers.Asked("other", "1.0", Grain.STEP, other)]
    said = dict.fromkeys(Evidence, ours)
    found = comparing.compared([sick, well], said, asked, Measured())
    rows = list(comparing.rows(found))
    assert [row[0] for row in rows] == ["stethoscope", "stethoscope", "other 1.0"]
    assert rows[2][1:] == (
        "every step",
        "0.00 (0/1)",
        "1.00 (1/1)",
        "0.00 (0/1)",
        "0.00 (0/1)",
        "1.00 (1/1)",
        "1.00 (1/1)",
        "+1.00",
        "-1.00",
        "+0.00",
    )


@every_peer
def test_an_installed_peer_flags_a_loss_that_becomes_nan(
    entry: asking_peers.PeerEntry, tmp_path: Path
) -> None:
    interpreter = INSTALLED / entry.name / "bin" / "python"
    if entry.name in " ".join(missing(INSTALLED)):
        pytest.skip(f"{entry.name} is not installed: set STETHOSCOPE_PEERS to a folder of environments")
    falling = [2.0 * 0.98**step + 0.1 for step in range(200)]
    scores = {step: 10.0 + step / 20 for step in range(20, 201, 20)}
    dead = logged(tmp_path / "dead", [*falling[:150], *[math.nan] * 50], scores)
    with Program(interpreter, entry.peer) as program:
        assert program.version == entry.peer.version
        said = program.opinion(folder_of(dead, Grain.STEP))
    assert said.is_alarm
    assert said.findings
    assert said.causes
