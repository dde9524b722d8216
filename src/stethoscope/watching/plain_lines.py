"""Lines for a pipe or a file: the state at first, then alerts, and a sign of life now and then."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.palette import HEADING
from stethoscope.report.sparkline import sparkline
from stethoscope.report.words import count, number
from stethoscope.watching import spoken
from stethoscope.watching.alerts import Alert, Sighting
from stethoscope.watching.state import State
from stethoscope.watching.vital_signs import VitalSign

CURVE = 24  # columns
NAME, VALUE, TREND = 14, 10, 10
MOST_FOUND = 20


def summary(state: State, only_ascii: bool = False) -> Iterator[Line]:
    """Everything known, from top to bottom."""
    diagnosis = state.diagnosis
    name = spoken.name_of(state)
    if diagnosis is None:
        yield Line(Text(f"{name}: {spoken.waiting(state)}"), hang=2)
        return
    yield Line(Text.assemble((name, HEADING), ": ", spoken.verdict(diagnosis)), hang=2)
    said = [Text(spoken.progress(state.beat)), spoken.ending(diagnosis) or spoken.silence(state.beat)]
    yield Line(Text("; ").join(part for part in said if part), hang=2)
    yield from (Line(_sign(sign, only_ascii), indent=2, verbatim=True) for sign in state.signs)
    yield from _found(state.found)
    yield from (Line(Text(note), hang=2) for note in spoken.notes(diagnosis))


def alert(told: Alert, moment: float) -> Line:
    """An alert with its time."""
    return Line(Text(f"{spoken.at(moment)} ") + spoken.alert(told), hang=9)


def sign_of_life(state: State, moment: float) -> Line:
    """In a line: how far the run is and how it does."""
    diagnosis = state.diagnosis
    if diagnosis is None:
        return Line(Text(f"{spoken.at(moment)} {spoken.waiting(state)}"), hang=9)
    values = ", ".join(f"{one_line(sign.name, NAME)} {number(sign.last)}" for sign in state.signs[:3])
    text = Text(f"{spoken.at(moment)} {spoken.progress(state.beat)}; {values}; ")
    return Line(text + spoken.verdict(diagnosis), hang=9)


def _sign(sign: VitalSign, only_ascii: bool) -> Text:
    curve = "" if only_ascii else sparkline(sign.curve, CURVE)
    name = one_line(sign.name, 40)
    text = f"{name:<{NAME}} {number(sign.last):>{VALUE}}  {sign.trend:<{TREND}}  {curve}"
    return Text(text.rstrip())


def _found(seen: tuple[Sighting, ...]) -> Iterator[Line]:
    if not seen:
        yield Line(Text("Nothing found that needs a remedy."))
        return
    yield Line(Text("Found", style=HEADING))
    yield from (Line(spoken.sighting(one), indent=2, hang=2) for one in seen[:MOST_FOUND])
    if len(seen) > MOST_FOUND:
        yield Line(Text(f"and {count(len(seen) - MOST_FOUND, 'more finding')}"), indent=2)
