"""What the rules answered beyond the causes: unexplained, benign, noted, not examined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from rich.text import Text

from stethoscope.causes import Explanation
from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, NotExamined, Severity
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line
from stethoscope.report.palette import OF_SEVERITY
from stethoscope.report.sections.causes import is_probable
from stethoscope.report.short_list import short_list
from stethoscope.report.unexplained import unexplained
from stethoscope.report.words import count, listed, number

LONGEST_MEASURE = 80
CODES_SHOWN = 12


def unexplained_ones(explanation: Explanation, verbose: bool) -> Iterator[Line]:
    """Findings that no cause accounts for, nor one shown above as likely."""
    for found in left_over(explanation):
        yield from _finding(found, verbose)


def left_over(explanation: Explanation) -> list[Found]:
    """What was found and no cause that is shown with its evidence uses."""
    shown = {
        finding
        for cause in explanation.causes
        if is_probable(cause)
        for argument in cause.arguments_for
        for finding in argument.findings
    }
    return [found for found in unexplained(explanation) if found.finding not in shown]


def notes(diagnosis: Diagnosis, verbose: bool) -> Iterator[Line]:
    """What was seen and matters little; with `verbose`, every finding with its measurements."""
    noted = [found for found in diagnosis.examination.found if verbose or _is_worth_a_note(found, diagnosis)]
    yield from short_list(noted, lambda found: _finding(found, verbose), verbose)


def benign(explanation: Explanation) -> Iterator[Line]:
    """What looks alarming, and why it is not."""
    for harmless in explanation.benign:
        places = tuple(place for found in harmless.explains for place in found.finding.places)
        text = Text(f"{one_line(harmless.entry.cause.title)}: {one_line(harmless.why)}")
        yield Line(text + address(places), indent=2, hang=2)


def not_examined(diagnosis: Diagnosis, verbose: bool) -> Iterator[Line]:
    """The rules that could not look; with `verbose`, why, and what to log."""
    skipped = diagnosis.examination.not_examined
    if skipped and not verbose:
        codes = listed([rule.rule.code for rule in skipped], CODES_SHOWN)
        text = f"{count(len(skipped), 'rule')} could not look: {codes}. --verbose says why."
        yield Line(Text(text), indent=2, hang=2)
        return
    for (why, log_this), rules in by_reason(skipped).items():
        names = ", ".join(f"{rule.rule.code} {rule.rule.name}" for rule in rules)
        log = f" To log it: {one_line(log_this)}" if log_this else ""
        yield Line(Text(f"{names}: {one_line(why).rstrip('.')}.{log}"), indent=2, hang=2)


def _is_worth_a_note(found: Found, diagnosis: Diagnosis) -> bool:
    """Whether a note says something that no other section has said."""
    explained = any(found in benign.explains for benign in diagnosis.explanation.benign)
    quoted = diagnosis.verdict is not Verdict.HEALTHY and any(
        found.finding.message in considered.why for considered in diagnosis.prescription.not_recommended
    )
    return found.severity is Severity.NOTE and not explained and not quoted


def _finding(found: Found, verbose: bool) -> Iterator[Line]:
    heading = Text.assemble(
        (found.rule.code, OF_SEVERITY[found.severity]), f" {found.rule.name}, {found.severity.value}: "
    )
    message = Text(one_line(found.finding.message))
    yield Line(heading + message + address(found.finding.places, verbose), indent=2, hang=2)
    if verbose and found.finding.evidence:
        yield Line(Text(measurements(found)), indent=4, hang=2)


def measurements(found: Found) -> str:
    """What a rule measured, each value with its name."""
    pairs = found.finding.evidence.items()
    return "; ".join(f"{one_line(name, LONGEST_MEASURE)} {_measured(value)}" for name, value in pairs)


def _measured(value: object) -> str:
    return number(value) if isinstance(value, float) else one_line(value, LONGEST_MEASURE)


def by_reason(skipped: Iterable[NotExamined]) -> dict[tuple[str, str], list[NotExamined]]:
    """The rules that could not look, by why, and by what would have to be logged."""
    grouped: dict[tuple[str, str], list[NotExamined]] = defaultdict(list)
    for rule in skipped:
        grouped[rule.missing.why, rule.missing.log_this].append(rule)
    return grouped
