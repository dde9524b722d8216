"""A comparison for people: where the runs part, what differs, and which difference can have done it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stethoscope.compare.comparison import Comparison, Signal, Suspect
from stethoscope.compare.suspects import harms
from stethoscope.report import compare_words as words
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line, visible
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import AGAINST, FOR, HEADING, OF_DIFF, OF_SEVERITY
from stethoscope.report.short_list import SHOWN, short_list
from stethoscope.report.words import listed, number

TABLE_FROM = 64  # columns; below, each signal takes two lines
MOST_SIGNALS = 12
MOST_NAMES = 10


def render(compared: Comparison, console: Console, *, verbose: bool = False) -> str:
    """The comparison as this console would show it."""
    return printed(_lines(compared, console.width, verbose), console)


def _lines(compared: Comparison, width: int, verbose: bool) -> Iterator[Line]:
    yield Line(Text(one_line(words.headline(compared)), style=HEADING), hang=2)
    if said := words.equality(compared):
        yield Line(Text(said), hang=2)
    yield Line(Text(one_line(words.verdict_on_differences(compared))), hang=2)
    yield from _signals(compared, width, verbose)
    yield from _suspects(compared, verbose)
    yield from _findings(compared, verbose)
    yield from _not_known(compared, verbose)


def _heading(title: str) -> Iterator[Line]:
    yield BLANK
    yield Line(Text(title, style=HEADING))


# --- signals ---------------------------------------------------------------------------------------------


def _signals(compared: Comparison, width: int, verbose: bool) -> Iterator[Line]:
    parted = compared.signals.parted
    if parted:
        yield from _heading("Where they part")
        shown = parted if verbose else parted[:MOST_SIGNALS]
        yield from _table(shown) if width >= TABLE_FROM else _pairs(shown)
        if len(shown) < len(parted):
            yield Line(Text(f"and {len(parted) - len(shown):,} more; --verbose shows them"), indent=2)
    alike = [one.name for one in compared.signals.compared if one.part is None]
    if alike:
        names = listed([one_line(name, 60) for name in alike], len(alike) if verbose else MOST_NAMES)
        yield BLANK
        yield Line(Text.assemble(("Do not part", HEADING), f": {names}"), hang=2)


def _table(signals: tuple[Signal, ...]) -> Iterator[Line]:
    rows = [("signal", "from step", "sure by", "good", "bad", ""), *map(_row, signals)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(6)]
    for position, row in enumerate(rows):
        text = Text(row[0] + " " * (widths[0] - cell_len(row[0])))
        for column in range(1, 5):
            text.append("  " + " " * (widths[column] - cell_len(row[column])) + row[column])
        text.append("  " + row[5], _style(signals[position - 1]) if position else "")
        yield Line(text, indent=2, verbatim=True)


def _row(signal: Signal) -> tuple[str, str, str, str, str, str]:
    part = signal.part
    assert part is not None
    name = one_line(signal.name, 40)
    return (name, f"{part.step:,}", f"{part.sure:,}", number(part.good), number(part.bad), _side(signal))


def _pairs(signals: tuple[Signal, ...]) -> Iterator[Line]:
    for signal in signals:
        part = signal.part
        assert part is not None
        yield Line(
            Text.assemble(one_line(signal.name, 40), ": ", (_side(signal), _style(signal))), indent=2, hang=2
        )
        values = f"{number(part.good)} -> {number(part.bad)}"
        yield Line(Text(f"from step {part.step:,}, sure by {part.sure:,}, {values}"), indent=4, hang=2)


def _side(signal: Signal) -> str:
    part = signal.part
    if part is None or part.higher is None:
        return "not finite"
    worse = {True: ", worse", False: ", better", None: ""}[harms(signal.name, part.higher)]
    return ("higher" if part.higher else "lower") + worse


def _style(signal: Signal) -> str:
    harmful = harms(signal.name, signal.part.higher) if signal.part else None
    return {True: AGAINST, False: FOR, None: ""}[harmful]


# --- differences -----------------------------------------------------------------------------------------


def _suspects(compared: Comparison, verbose: bool) -> Iterator[Line]:
    able = [one for one in compared.suspects if one.can_act]
    unable = [one for one in compared.suspects if not one.can_act]
    if able:
        yield from _heading("What differs and can act" if compared.parts else "What differs")
        yield from short_list(
            able, lambda one: _suspect(one, compared, verbose), verbose or len(able) <= 2 * SHOWN
        )
    if unable:
        yield from _heading("What differs and cannot explain it")
        yield from short_list(unable, lambda one: _suspect(one, compared, False), verbose)


def _suspect(suspect: Suspect, compared: Comparison, verbose: bool) -> Iterator[Line]:
    text = Text.assemble(
        f"{suspect.kind} ", (one_line(suspect.what, 300), HEADING if suspect.can_act else "")
    )
    yield Line(text + address(suspect.where, everything=True), indent=2, hang=4)
    if suspect.why:
        yield Line(Text(one_line(words.reasons(suspect))), indent=4, hang=2)
    for setting in compared.settings.relevant:
        if (
            suspect.kind == "setting"
            and suspect.what.startswith(f"{setting.key}: ")
            and words.effects(setting)
        ):
            yield Line(Text(one_line(words.effects(setting))), indent=4, hang=2)
    for code in compared.code.changed:
        if suspect.can_act and suspect.kind == "code" and suspect.what == f"{code.name} {code.what}":
            rows = code.diff.splitlines()
            yield from (_diff_row(row) for row in (rows if verbose else rows[:10]))


def _diff_row(row: str) -> Line:
    return Line(Text(visible(row), style=OF_DIFF.get(row[:1], "")), indent=4, verbatim=True)


def _findings(compared: Comparison, verbose: bool) -> Iterator[Line]:
    for title, every in (
        ("Found in the bad run only", compared.findings.only_bad),
        ("Found in the good run only", compared.findings.only_good),
    ):
        if not every:
            continue
        yield from _heading(title)
        for found in every if verbose else every[:MOST_SIGNALS]:
            text = Text.assemble(
                (found.severity.value, OF_SEVERITY[found.severity]), f" {found.rule.code} {found.rule.name}: "
            )
            yield Line(
                text + Text(one_line(found.finding.message)) + address(found.finding.places), indent=2, hang=4
            )


def _not_known(compared: Comparison, verbose: bool) -> Iterator[Line]:
    yield BLANK
    told = [("Also", words.folded(compared)), ("Not known", words.unknowns(compared))]
    told.append(("Mind", compared.code.note))
    for title, said in told:
        if said:
            yield Line(Text.assemble((title, HEADING), f": {one_line(said)}"), hang=2)
    one_sided = [
        f"{one.what} ({'good' if one.good else 'bad'} only: {one.good or one.bad})"
        for one in compared.environment.one_sided
    ]
    for title, names in (("Told of one run only", one_sided), ("Not compared", words.left_out(compared))):
        if names:
            shown = listed([one_line(name, 400) for name in names], len(names) if verbose else 4)
            yield Line(Text.assemble((title, HEADING), f": {shown}"), hang=2)
