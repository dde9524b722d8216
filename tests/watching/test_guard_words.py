"""What Guard told from inside the training is passed on."""

from __future__ import annotations

import json
from pathlib import Path

from stethoscope.findings import Severity
from stethoscope.watching.guard_words import GuardWords
from tests.watching.runs import append


def line(kind: str, step: int, severity: str, seen: str) -> str:
    return json.dumps({"kind": kind, "step": step, "severity": severity, "seen": seen}) + "\n"


def test_warnings_are_heard_as_they_are_written_and_notes_are_not(tmp_path: Path) -> None:
    path = tmp_path / "flight-x-rank0.events.jsonl"
    path.write_text('{"flight_record":1,"kind":"started"}\n' + line("loss-spike", 4, "note", "a"))
    words, files = (
        GuardWords(),
        [(path, "flight-x-rank0.events.jsonl"), (tmp_path / "train.csv", "train.csv")],
    )
    assert not words.hear(files)
    append(path, line("non-finite-gradient", 41, "warning", "The norm is inf."))
    assert words.hear(files)
    assert not words.hear(files)
    (sighting,) = words.sightings
    assert (sighting.name, sighting.severity, sighting.onset) == ("non-finite-gradient", Severity.WARNING, 41)
    assert str(sighting.places[0]) == "flight-x-rank0.events.jsonl:3"


def test_the_worst_of_a_kind_stays_and_half_a_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "flight-x-rank0.events.jsonl"
    whole = line("divergence", 9, "critical", "The loss diverges.")
    path.write_text(line("divergence", 5, "warning", "x") + whole[:20])
    words, files = GuardWords(), [(path, "e")]
    words.hear(files)
    assert words.sightings[0].severity is Severity.WARNING
    append(path, whole[20:] + line("divergence", 12, "warning", "y"))
    words.hear(files)
    assert [(one.severity, one.onset) for one in words.sightings] == [(Severity.CRITICAL, 9)]


def test_lines_that_are_no_words_of_guard_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "flight-x-rank0.events.jsonl"
    path.write_bytes(b"\xff\xfe\n[1]\n{}\n" + b'{"kind": 3, "severity": "warning"}\n')
    assert not GuardWords().hear([(path, "e"), (tmp_path / "flight-gone.events.jsonl", "g")])
