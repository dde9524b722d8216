"""What a rule says does not depend on the way in which a program is written.

The ways are drawn by the names of the cases, so that every run asks the same; `benchmarks/rule_rewritings.py`
asks all of them. Shares may rise and not fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
import rule_rewritings as study

from tests.literate import Case

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

WAYS = sorted(path.stem for path in BENCHMARKS.glob("rewritings/[a-z]*.py") if path.stem != study.AS_IT_IS)
WAYS_OF_A_CASE = 2

FOUND = 0.955  # of sick cases, in all ways but the two that take names away
FOUND_WITHOUT_NAMES = 0.9
SILENT = 0.99  # of healthy cases, in every way
NAMELESS = frozenset({"neutral_names", "other_names"})


@pytest.fixture(scope="module")
def changes() -> list[study.Change]:
    return [change for case in _drawn() for change in study.asked(_ways(case), case)]


def test_a_fault_is_found_however_it_is_written(changes: list[study.Change]) -> None:
    sick = [change for change in changes if not change.case.silent and change.way not in NAMELESS]
    assert _share(sick) >= FOUND, _lost(sick)


def test_most_faults_are_found_whatever_their_variables_are_called(changes: list[study.Change]) -> None:
    sick = [change for change in changes if not change.case.silent and change.way in NAMELESS]
    assert _share(sick) >= FOUND_WITHOUT_NAMES, _lost(sick)


def test_a_healthy_program_stays_healthy_however_it_is_written(changes: list[study.Change]) -> None:
    healthy = [change for change in changes if change.case.silent]
    assert _share(healthy) >= SILENT, _lost(healthy)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_again_is_a_program(way: str) -> None:
    for case in list(_drawn())[:40]:
        again = study.rewritten(case, way)
        for _, name, body in again.files if again is not None else ():
            if name.endswith(".py") and not name.startswith("> "):
                compile(body, name, "exec")


def _drawn() -> Iterator[Case]:
    """The first sick case and the first healthy one of each rule that reads source."""
    return iter(study.chosen((), 1))


def _ways(case: Case) -> list[str]:
    """Two ways of any kind, and one of those that take names away."""
    begin = crc32(case.title.encode())
    drawn = {WAYS[(begin + 7 * place) % len(WAYS)] for place in range(WAYS_OF_A_CASE)}
    return sorted(drawn | {sorted(NAMELESS)[begin % 2]})


def _share(changes: list[study.Change]) -> float:
    return sum(change.kept for change in changes) / len(changes)


def _lost(changes: list[study.Change]) -> list[str]:
    return [f"{change.way}: {change.case.name}: {change.why}" for change in changes if not change.kept]
