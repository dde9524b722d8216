"""A trial for people: what each change does, the arms, and what to know before believing it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import AGAINST, FOR, HEADING
from stethoscope.trials.scores import failed_runs
from stethoscope.trials.trial import Class, Effect, Ending, Reading, TrialResult, Verdict

GAP = 2
LONGEST_NAME = 44
HEADS = ("change", "verdict", "alone", "beside the others", "p")
ARM_HEADS = ("arm", "mean", "sd", "runs", "failed")
STYLES = {
    Class.NECESSARY: FOR,
    Class.SUFFICIENT: FOR,
    Class.HELPFUL: FOR,
    Class.HARMFUL: AGAINST,
    Class.CHANGES_YARDSTICK: AGAINST,
    Class.CANNOT_BE_APPLIED: AGAINST,
}
READINGS = {
    Reading.TAIL: "mean of the last tenth",
    Reading.LAST: "last value",
    Reading.BEST: "best value",
}
SHOWN_FAILURES = 3
SHOWN_LINES = 5  # of what a failed run printed last


def render(result: TrialResult, console: Console) -> str:
    """The table of verdicts, the reasons, the arms, failed runs and notes."""
    return printed(_lines(result), console)


def _lines(result: TrialResult) -> Iterator[Line]:
    trial = result.trial
    goal = "higher is better" if trial.metric.goal == "max" else "lower is better"
    runs = sum(one.ending is not Ending.NOT_RUN for one in result.outcomes)
    measured = f"{trial.metric.name} ({READINGS[trial.metric.reading]}; {goal})"
    yield Line(Text(f"{measured}, {len(trial.seeds)} seeds, {runs} runs", HEADING), hang=2)
    yield Line(Text(_cure(result)), hang=2)
    yield BLANK
    yield from _verdicts(result)
    yield BLANK
    for verdict in result.verdicts:
        yield Line(Text(f"{_name(verdict.change)}: {one_line(verdict.why)}."), bullet="- ")
    yield BLANK
    yield from _table(ARM_HEADS, list(_arms(result)))
    yield from _failures(result)
    if result.notes:
        yield BLANK
        yield from (Line(Text(one_line(note)), bullet="! ") for note in result.notes)


def _cure(result: TrialResult) -> str:
    margin = f"No effect means surely less than {result.margin:.3g}: {result.margin_why}."
    if result.distance is None:
        return margin
    return f"All fixes together: {_interval(result.distance)}. {margin}"


def _verdicts(result: TrialResult) -> Iterator[Line]:
    rows, styles = [], []
    for verdict in (*result.verdicts, *([result.placebo] if result.placebo else [])):
        rows.append(_row(verdict))
        styles.append(STYLES.get(verdict.classes[0], ""))
    yield from _table(HEADS, rows, styles)
    if result.trial.placebo is not None and result.placebo is not None:
        yield Line(Text(f"The placebo is {one_line(result.trial.placebo.title)}."), indent=2)


def _row(verdict: Verdict) -> tuple[str, ...]:
    smallest = [effect.p_adjusted for effect in (verdict.alone, verdict.within) if effect is not None]
    return (
        _name(verdict.change),
        verdict.spoken,
        _interval(verdict.alone) if verdict.alone else "-",
        _interval(verdict.within) if verdict.within and verdict.within is not verdict.alone else "-",
        f"{min(smallest):.3g}" if smallest else "-",
    )


def _name(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 3]}..."


def _interval(effect: Effect) -> str:
    if not math.isfinite(effect.low):
        return f"{effect.mean:+.3g} (one seed)"
    return f"{effect.mean:+.3g} ({effect.low:+.3g} to {effect.high:+.3g})"


def _arms(result: TrialResult) -> Iterator[tuple[str, ...]]:
    failures = failed_runs(result.trial, result.outcomes)
    for arm in result.arms:
        runs = [one for one in result.outcomes if one.arm == arm.name]
        scores = [one.score for one in runs if one.score is not None and one not in failures]
        failed = sum(one in failures for one in runs)
        yield (
            _name(arm.name),
            f"{np.mean(scores):.4g}" if scores else "-",
            f"{np.std(scores, ddof=1):.2g}" if len(scores) > 1 else "-",
            str(len(scores)),
            str(failed) if failed else "",
        )


def _failures(result: TrialResult) -> Iterator[Line]:
    """The runs without a score, and what the first of them said last."""
    silent = [one for one in result.outcomes if one.score is None and one.ending is not Ending.NOT_RUN]
    if not silent:
        return
    yield BLANK
    yield Line(Text("Runs without a score", HEADING))
    for one in silent[:SHOWN_FAILURES]:
        yield Line(Text(f"{one_line(one.arm)}, seed {one.seed}: {one.ending}; {one_line(one.why)}"), indent=2)
        yield from (Line(Text(one_line(line, 200)), indent=4) for line in one.tail[-SHOWN_LINES:])
    if len(silent) > SHOWN_FAILURES:
        yield Line(Text(f"and {len(silent) - SHOWN_FAILURES:,} more"), indent=2)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> Iterator[Line]:
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    yield Line(_cells(heads, widths, HEADING), verbatim=True)
    for row, style in zip_longest(rows, styles, fillvalue=""):
        yield Line(_cells(row, widths, style), verbatim=True)


def _cells(cells: Sequence[str], widths: Sequence[int], style: str) -> Text:
    row = Text()
    for cell, width in zip(cells, widths, strict=True):
        row.append(cell, style)
        row.append(" " * (width - cell_len(cell) + GAP))
    return row
