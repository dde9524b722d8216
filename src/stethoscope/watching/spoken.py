"""What is known about a run under watch, in words."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.text import Text

from stethoscope.causes.verdict import Verdict, stands
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Severity
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.palette import HEADING, OF_SEVERITY, OF_VERDICT
from stethoscope.report.sections.causes import is_probable, title_of
from stethoscope.report.words import certainty, chance, count, listed
from stethoscope.signals.ending import FINISHED
from stethoscope.watching.alerts import GUARD, Alert, Sighting, Why, is_over
from stethoscope.watching.heartbeat import Heartbeat, duration
from stethoscope.watching.state import State

LONGEST_NAME = 60
LONGEST_REASON = 300
CODES_SHOWN = 6

SO_FAR = {
    Verdict.HEALTHY: "healthy so far",
    Verdict.AT_RISK: "at risk",
    Verdict.SICK: "sick",
    Verdict.UNKNOWN: "no verdict yet",
}
AT_THE_END = {**SO_FAR, Verdict.HEALTHY: "healthy", Verdict.UNKNOWN: "no verdict"}
SOMETHING = "something is wrong"  # and it is not known what
OF_WHY = {Why.FOUND: "", Why.WORSE: "worse: ", Why.BACK: "back: ", Why.CLEAR: "clear: "}


def name_of(state: State) -> str:
    """The run's name, or the path while there is none."""
    return one_line(state.diagnosis.run.name if state.diagnosis else state.path, LONGEST_NAME) or "this run"


def verdict(diagnosis: Diagnosis) -> Text:
    """The verdict so far, how sure it is, and the root cause where there is one."""
    word, style = (
        (AT_THE_END if is_over(diagnosis) else SO_FAR)[diagnosis.verdict],
        OF_VERDICT[diagnosis.verdict],
    )
    if diagnosis.verdict is Verdict.UNKNOWN and diagnosis.explanation.symptoms:
        word, style = SOMETHING, OF_SEVERITY[Severity.WARNING]
    return Text.assemble((word, style), _because(diagnosis))


def _because(diagnosis: Diagnosis) -> str:
    explanation = diagnosis.explanation
    roots = [cause for cause in explanation.causes if stands(cause) and cause.consequence_of is None]
    if roots:
        more = f"; {count(len(roots) - 1, 'more cause')}" if len(roots) > 1 else ""
        return f": {title_of(roots[0])} ({certainty(roots[0].standing, roots[0].probability)}){more}"
    if diagnosis.verdict is Verdict.HEALTHY:
        return f" ({chance(explanation.healthy)})"
    if not explanation.symptoms:
        return ": too little was logged to judge"
    guess = next(filter(is_probable, explanation.causes), None)
    if guess is None:
        return "; no cause known here accounts for it"
    sure = certainty(guess.standing, guess.probability)
    return f"; best guess: {title_of(guess)} ({sure})"


def progress(beat: Heartbeat) -> str:
    """How far the run is, how fast, and how long it will take."""
    if beat.step is None:
        return "no steps yet"
    parts = [f"{one_line(beat.axis, 20)} {beat.step:,}" + (f" of {beat.total:,}" if beat.total else "")]
    if beat.rate:
        parts.append(_speed(beat.rate, one_line(beat.axis, 20)))
    if beat.left:
        parts.append(f"about {duration(beat.left)} left")
    return ", ".join(parts)


def _speed(rate: float, axis: str) -> str:
    if rate >= 0.1:
        return f"{rate:.3g} {axis}s/s"
    return f"{1 / rate:.0f} s per {axis}" if rate * 120 >= 1 else f"{1 / rate / 60:.0f} min per {axis}"


def silence(beat: Heartbeat) -> Text:
    """How long ago the last line was written, and whether that is long."""
    if beat.silent is None:
        return Text("")
    said = Text(f"last line {duration(beat.silent)} ago")
    if beat.stalled:
        said.append("; it stands still", OF_SEVERITY[Severity.WARNING])
    return said


def ending(diagnosis: Diagnosis) -> Text:
    """How the run ended, where its logs say that it did."""
    if not is_over(diagnosis):
        return Text("")
    how, why = one_line(diagnosis.ending.how), one_line(diagnosis.ending.why, LONGEST_REASON).rstrip(".")
    style = "" if how == FINISHED else OF_SEVERITY[Severity.CRITICAL]
    where = address((diagnosis.ending.where,) if diagnosis.ending.where else ())
    return Text.assemble("ended: ", (how, style), f"; {why}", where)


def sighting(seen: Sighting) -> Text:
    """A finding with its severity and address."""
    code = f" {seen.code}" if seen.code else " Guard" if seen.by == GUARD else ""
    return Text.assemble(
        (seen.severity.value, OF_SEVERITY[seen.severity]),
        f"{code} {one_line(seen.name, LONGEST_NAME)}: {one_line(seen.message)}",
        address(seen.places),
    )


def alert(told: Alert) -> Text:
    """An alert, and why it is told once more where it is."""
    if told.why is Why.CLEAR:
        seen = told.sighting
        return Text(f"clear: {f'{seen.code} ' if seen.code else ''}{one_line(seen.name, LONGEST_NAME)}")
    was = f" (it was a {told.before.value})" if told.why is Why.WORSE and told.before else ""
    return Text.assemble((OF_WHY[told.why], HEADING), sighting(told.sighting), was)


def at(moment: float) -> str:
    """The time of day, here."""
    return time.strftime("%H:%M:%S", time.localtime(moment))


def notes(diagnosis: Diagnosis) -> Iterator[str]:
    """In a line each: what looks alarming and is not, what was only noted, what could not be examined."""
    benign = [one_line(one.entry.cause.title, 200).rstrip(".") for one in diagnosis.explanation.benign]
    if benign:
        yield f"Looks alarming, is not: {'; '.join(benign)}"
    noted = [found.rule.code for found in diagnosis.examination.found if found.severity is Severity.NOTE]
    if noted:
        yield f"Noted: {listed(list(dict.fromkeys(noted)), CODES_SHOWN)}"
    skipped = [rule.rule.code for rule in diagnosis.examination.not_examined]
    if skipped:
        yield f"Not examined: {count(len(skipped), 'rule')} could not look: {listed(skipped, CODES_SHOWN)}"
    if diagnosis.run.unread:
        first = diagnosis.run.unread[0]
        more = f" and {len(diagnosis.run.unread) - 1:,} more" if len(diagnosis.run.unread) > 1 else ""
        reason = one_line(first.reason.removeprefix(f"{first.file}: "), LONGEST_NAME)
        yield f"Not read: {one_line(first.file, LONGEST_NAME)}: {reason}{more}"


def waiting(state: State) -> str:
    """What is being waited for."""
    reason = one_line(state.waiting, LONGEST_REASON).rstrip(".")
    return f"waiting: {reason}" if state.diagnosis is None else f"nothing to read at the moment: {reason}"
