"""The sick systems of the clinic: lint finds each planted fault at its line, and nothing at the innocents."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stethoscope.findings import Severity
from stethoscope.lint import lint
from stethoscope.lint.lint_report import Linted

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "src" / "stethoscope" / "clinic" / "cases"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a case's project."""

    case: str
    name: str
    lines: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.case}: {self.name}"


def _cases() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/faults.toml"))


def _told(case: str) -> dict[str, Any]:
    return tomllib.loads((CASES / case / "faults.toml").read_text(encoding="utf-8"))


def _line(case: str, file: str, text: str) -> tuple[str, int]:
    lines = (CASES / case / file).read_text(encoding="utf-8").split("\n")
    return file, next(number for number, line in enumerate(lines, 1) if text in line)


def _faults() -> Iterator[Place]:
    for case in _cases():
        for fault in _told(case)["fault"]:
            if fault.get("family"):
                places = tuple(_line(case, one["file"], one["line"]) for one in fault["places"])
                yield Place(case, fault["name"], places)


def _innocents() -> Iterator[Place]:
    for case in _cases():
        for innocent in _told(case).get("innocent", []):
            place = innocent["place"]
            name = f"{place['file']}: {place['line']}"[:60]
            yield Place(case, name, (_line(case, place["file"], place["line"]),))


@cache
def _found(example: str) -> tuple[Linted, ...]:
    return lint([ROOT / "examples" / example]).findings


def _addresses(found: Linted) -> set[tuple[str, int]]:
    """Where a finding points, in files of the project."""
    return {(Path(where.file).name, where.line or 0) for where in (found.where, *found.also)}


@pytest.mark.parametrize("fault", list(_faults()), ids=str)
def test_a_planted_fault_is_found_at_its_line(fault: Place) -> None:
    wanted = {(Path(file).name, line) for file, line in fault.lines}
    assert any(_addresses(found) & wanted for found in _found(fault.case.replace("_", "-")))


@pytest.mark.parametrize("innocent", list(_innocents()), ids=str)
def test_nothing_is_found_at_what_the_write_ups_blamed(innocent: Place) -> None:
    (file, line), *_ = innocent.lines
    said = [
        found
        for found in _found(innocent.case.replace("_", "-"))
        if (Path(found.where.file).name, found.where.line) == (Path(file).name, line)
    ]
    assert said == []


@pytest.mark.parametrize("case", [*_cases(), "nano_sr"])
def test_the_cured_twin_is_silent(case: str) -> None:
    found = _found(f"{case.replace('_', '-')}-cured")
    assert [one for one in found if one.severity is not Severity.NOTE] == []
