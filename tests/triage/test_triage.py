"""Every run below a folder: examined once, remembered, sorted, whatever one of them does."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stethoscope.diagnose  # noqa: F401
from stethoscope.errors import StethoscopeError
from stethoscope.triage import Choice, Index, Summary, chosen, in_order, triage
from stethoscope.triage.asking import since
from stethoscope.triage.examining import Patient, examined
from stethoscope.triage.summary import SummaryCause
from stethoscope.triage.workers import examined_by_processes
from tests.compare.runs import losses, write
from tests.triage import patients


def one_after_another(every, seconds):
    waiting = list(every)
    while waiting:
        patient = waiting.pop(0)
        outcome = examined(patient, seconds)
        yield patient, outcome
        waiting += [Patient(path) for path in outcome.others]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    broken = losses(1)
    broken[150:] = np.nan
    write(tmp_path / "runs" / "well", losses(1))
    write(tmp_path / "runs" / "broken", broken)
    return tmp_path / "runs"


def test_the_sickest_comes_first(tree: Path) -> None:
    found = triage(tree, examine=one_after_another)
    first, second = in_order(found.summaries)
    assert (first.name, second.name) == ("broken", "well")
    assert first.symptoms
    assert second.verdict == "healthy"
    assert first.last_step == 1990
    assert first.next


def test_what_is_known_is_not_examined_again_until_a_file_changes(tree: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(every, seconds):
        asked.extend(patient.path for patient in every)
        yield from one_after_another(every, seconds)

    with Index(tmp_path / "cache") as index:
        before = triage(tree, index, examine=counting)
        assert len(asked) == 2
        again = triage(tree, index, examine=counting)
        assert len(asked) == 2
        assert again.remembered == 2
        assert in_order(again.summaries) == in_order(before.summaries)
        (tree / "well" / "config.yaml").write_text("lr: 0.5\n")
        triage(tree, index, examine=counting)
        assert asked[2:] == [str(tree / "well")]


def test_a_run_that_is_gone_is_forgotten(tree: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "cache") as index:
        triage(tree, index, examine=one_after_another)
        (tree / "well").rename(tmp_path / "elsewhere")
        assert len(triage(tree, index, examine=one_after_another).summaries) == 1
        assert len(index.changed()) == 1


def test_runs_kept_in_one_folder_are_lines_each_and_remembered(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs" / "a", losses(1))
    for seed in (2, 3):
        other = write(tmp_path / f"seed{seed}", losses(seed))
        (folder / f"seed{seed}.csv").write_text((other / "train.csv").read_text())
    with Index(tmp_path / "cache") as index:
        found = triage(tmp_path / "runs", index, examine=one_after_another)
        assert len(found.summaries) == 3
        again = triage(tmp_path / "runs", index, examine=one_after_another)
        assert (len(again.summaries), again.remembered) == (3, 3)


def test_a_run_that_ends_or_holds_up_its_process_stops_no_other() -> None:
    names = ["a", "crash", "b", "hang", "c", "two"]
    found = examined_by_processes([Patient(name) for name in names], 2, 1.0, patients.examined)
    told = {patient.path: outcome.summary for patient, outcome in found}
    assert sorted(told) == sorted([*names, "two-beside"])
    assert {name for name, summary in told.items() if summary.error} == {"crash", "hang"}
    assert "ended the whole process" in told["crash"].error
    assert "longer than 1 s" in told["hang"].error


def test_a_run_that_takes_long_is_given_up(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["stethoscope.diagnose"], "read", lambda *_: time.sleep(30))
    outcome = examined(Patient(str(tree / "well")), 0.2)
    assert "took longer than 0.2 s" in outcome.summary.error


def test_a_fault_of_ours_is_a_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(sys.modules["stethoscope.diagnose"], "read", fails)
    assert "ZeroDivisionError: oh" in examined(Patient(str(tree / "well")), 5).summary.error


def test_summaries_are_chosen_and_ordered() -> None:
    sick = Summary(
        "r/sick", "sick", "sick", (SummaryCause("loss-spike", "", 0.9, "supported"),), last_written=50.0
    )
    risky = Summary("r/risky", "risky", "at-risk", last_written=150.0, last_step=9)
    every = [
        risky,
        sick,
        Summary("r/well", "well", "healthy"),
        Summary("r/bad", "bad", "unreadable", error="x"),
    ]
    assert [one.name for one in in_order(every)] == ["sick", "risky", "bad", "well"]
    assert [one.name for one in in_order(every, "recent")][:2] == ["risky", "sick"]
    assert in_order(every, "steps")[0].name == "risky"
    assert chosen(every, Choice(causes=("loss_*",))) == [sick]
    assert chosen(every, Choice(since=100.0)) == [risky]
    assert chosen(every, Choice(verdicts=("sick", "healthy"), match="WELL"))[0].name == "well"


def test_times_are_ago_or_dates() -> None:
    assert since("2h", 10_000.0) == 2_800.0
    assert since("2026-11-15", 0.0) > 1.7e9
    with pytest.raises(StethoscopeError, match="give 30m"):
        since("yesterday", 0.0)
