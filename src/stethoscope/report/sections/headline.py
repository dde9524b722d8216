"""What a reader must know if they read nothing else, and the curve that shows it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from stethoscope.causes import Explanation, RankedCause
from stethoscope.causes.verdict import Verdict, stands
from stethoscope.diagnose import Diagnosis
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.curve import curve
from stethoscope.report.line import BLANK, Line
from stethoscope.report.palette import HEADING, OF_VERDICT
from stethoscope.report.sections.causes import is_probable, title_of
from stethoscope.report.telling_series import telling_series
from stethoscope.report.words import certainty, chance, count
from stethoscope.run import Run
from stethoscope.signals.ending import Ending

LONGEST_NAME = 100
MOST_ROOTS = 3  # causes named in the headline
TALL_PLOT, SMALL_PLOT = 8, 4  # rows; a healthy run needs no more than a glance

SAID = {
    Verdict.HEALTHY: " is healthy",
    Verdict.AT_RISK: " is at risk",
    Verdict.SICK: " is sick",
    Verdict.UNKNOWN: ": no verdict",
}


def verdict(diagnosis: Diagnosis) -> Iterator[Line]:
    """The verdict, the root causes in a sentence each, and how the run ended."""
    name = one_line(diagnosis.run.name, LONGEST_NAME) or "This run"
    first, *others = sentences(diagnosis)
    sure = f" ({chance(diagnosis.explanation.healthy)})" if diagnosis.verdict is Verdict.HEALTHY else ""
    style = OF_VERDICT[diagnosis.verdict]
    yield Line(Text.assemble((name, HEADING), (SAID[diagnosis.verdict], style), f"{sure}. {first}"))
    for other in others:
        yield Line(Text(f"Also: {other}"), hang=6)
    yield Line(Text(extent(diagnosis.run) + " ") + _ended(diagnosis.ending))
    if diagnosis.verdict is not Verdict.HEALTHY:
        yield from (Line(Text(said), hang=2) for said in baseline(diagnosis))


def baseline(diagnosis: Diagnosis) -> Iterator[str]:
    """The question before any story: is the best score better than doing nothing?"""
    for finding in diagnosis.examination.of("below-trivial-baseline")[:1]:
        message = one_line(finding.message)
        advice = "Suspect the metric, the loss or the code before the schedule."
        yield f"First of all: {message}. {advice}"


def curve_of(diagnosis: Diagnosis, width: int, only_ascii: bool) -> Iterator[Line]:
    """The most telling curve."""
    telling = telling_series(diagnosis)
    if telling is None:
        return
    yield BLANK
    height = SMALL_PLOT if diagnosis.verdict is Verdict.HEALTHY else TALL_PLOT
    yield from curve(telling, width, height, only_ascii)


def sentences(diagnosis: Diagnosis) -> list[str]:
    """What is wrong in a sentence for each root cause, or in one sentence why none is named."""
    explanation = diagnosis.explanation
    roots = [cause for cause in explanation.causes if stands(cause) and cause.consequence_of is None]
    if roots:
        return [_sentence(cause) for cause in roots[:MOST_ROOTS]]
    if diagnosis.verdict is Verdict.HEALTHY:
        looked = count(_rules_that_looked(diagnosis), "rule")
        return [f"{looked} looked; nothing found needs a remedy."]
    if explanation.symptoms:
        return [f"Something is wrong; {_best_guess(explanation)}."]
    if explanation.standstill is not None:
        return [
            f"{one_line(explanation.standstill.finding.message)}. Nothing tells whether it had anything "
            "left to learn: log a score, or give the settings or the source."
        ]
    return ["Too little was logged, or could be read, to judge this run."]


def _sentence(cause: RankedCause) -> str:
    return f"{title_of(cause)} ({certainty(cause.standing, cause.probability)})."


def _best_guess(explanation: Explanation) -> str:
    guess = next(filter(is_probable, explanation.causes), None)
    if guess is None:
        return "no cause known here accounts for it"
    return f"the best guess: {title_of(guess)} ({certainty(guess.standing, guess.probability)})"


def _rules_that_looked(diagnosis: Diagnosis) -> int:
    found = {found.rule.code for found in diagnosis.examination.found}
    return len(diagnosis.examination.clear) + len(found)


def extent(run: Run) -> str:
    """The steps that were logged, in a sentence."""
    if run.steps is None:
        return "No steps were logged."
    first, last = run.steps
    parts = f" in {len(run.segments)} segments" if len(run.segments) > 1 else ""
    return f"Steps {first:,} to {last:,}{parts}."


def ended(ending: Ending) -> str:
    """How the run ended, without a full stop."""
    how, why = one_line(ending.how), one_line(ending.why).rstrip(".")
    return f"How it ended is not known: {why}" if how == "unknown" else f"How it ended: {how}; {why}"


def _ended(ending: Ending) -> Text:
    return Text(ended(ending)) + address((ending.where,) if ending.where else ()) + Text(".")
