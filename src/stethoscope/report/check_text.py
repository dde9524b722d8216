"""A run held to its trajectory, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from stethoscope.figures import terminal as drawn
from stethoscope.report.band_line import ASCII_LEGEND, LEGEND, band_line
from stethoscope.report.check_picture import plain_chart
from stethoscope.report.check_words import headline, sentences, signal_sentence
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import AGAINST, FOR, HEADING
from stethoscope.report.terminal import ascii_only
from stethoscope.trajectory.holding import JudgedSignal, Judgement, Outcome, not_examined

LONGEST_NAME = 20
CURVE = 24
HEIGHT = 10
WIDEST_PLOT = 76
MOST_PLOTS = 3  # signals that left their bands are drawn large
STYLE = {Outcome.HELD: FOR, Outcome.LEFT: AGAINST, Outcome.NOT_EXAMINED: "", Outcome.NOT_REACHED: ""}


def render(judgement: Judgement, console: Console) -> str:
    """The headline, a row for each signal, what left its band drawn large, what could not be examined."""
    return printed(_lines(judgement, console), console)


def _lines(judgement: Judgement, console: Console) -> Iterator[Line]:
    only_ascii = ascii_only(console)
    yield Line(Text(headline(judgement), style=f"{HEADING} {AGAINST if judgement.departed else FOR}"), hang=2)
    for name, told in sentences(judgement):
        yield Line(Text(f"{name}: {told}"), indent=2, hang=2)
    if judgement.signals:
        yield BLANK
        yield from (_row(one, only_ascii) for one in judgement.signals)
        if any(one.series is not None for one in judgement.signals):
            yield Line(Text(ASCII_LEGEND if only_ascii else LEGEND, style="dim"), indent=2)
    yield from _pictures(judgement, console, only_ascii)
    yield from _signs(judgement)
    yield from _not_examined(judgement)


def _row(one: JudgedSignal, only_ascii: bool) -> Line:
    name = one_line(one.held.name, LONGEST_NAME)
    curve = ""
    if one.series is not None and one.outcome in {Outcome.HELD, Outcome.LEFT}:
        curve = band_line(one.held, one.series, CURVE, only_ascii)
    row = Text(f"{name:<{LONGEST_NAME}} ")
    row.append(f"{one.outcome:<12} ", style=STYLE[one.outcome])
    row.append(f"{curve:<{CURVE}} ")
    if one.outcome is not Outcome.LEFT:
        row.append(one_line(signal_sentence(one)))
    return Line(row, indent=2, hang=2)


def _pictures(judgement: Judgement, console: Console, only_ascii: bool) -> Iterator[Line]:
    for one in judgement.left[:MOST_PLOTS]:
        encoding = "ascii" if only_ascii else "utf-8"
        width = min(console.width - 2, WIDEST_PLOT)
        yield BLANK
        for row in drawn.render(plain_chart(judgement, one), width, HEIGHT, encoding).splitlines():
            yield Line(Text(row), indent=2, verbatim=True)


def _signs(judgement: Judgement) -> Iterator[Line]:
    looked = sum(one.examined for one in judgement.signs)
    if looked:
        yield BLANK
        shown = len(judgement.warned)
        yield Line(Text(f"Warning signs: looked for {looked}, {shown or 'none'} showed"))


def _not_examined(judgement: Judgement) -> Iterator[Line]:
    told = list(not_examined(judgement))
    if not told:
        return
    yield BLANK
    yield Line(Text("Not examined", style=HEADING))
    for name, why, log_this in told:
        yield Line(Text(f"{one_line(name, 80)}: {one_line(why)}"), indent=2, hang=2)
        if log_this:
            yield Line(Text(f"log it: {one_line(log_this)}"), indent=4, hang=2)
