"""What to find out next: the observation or the experiment that would settle most.

How much an answer is worth is counted in bits: by how much it is expected to lessen the doubt about the
causes in question. A rule's answer is as telling as the weights that the causes give it; the experiment that
a cause names as its confirmation is taken to decide about that cause.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from stethoscope.causes.cause import Evidence, Means, Outcome, Question, RankedCause, Standing
from stethoscope.findings import Examination

MOST_QUESTIONS = 3
LEAST_BITS = 0.02  # what would tell less is not worth anybody's time
FALSE_ALARMS = 0.05  # how often a rule speaks without the cause, where a cause says nothing of its silence
SURE = 0.98


def to_ask(causes: Iterable[RankedCause], examination: Examination) -> tuple[Question, ...]:
    """The most telling questions about the causes that are neither proved nor contradicted."""
    in_question = [cause for cause in causes if _is_open(cause)]
    asked = [*_logs(in_question, examination), *_experiments(in_question)]
    telling = [question for question in asked if question.bits >= LEAST_BITS]
    return tuple(sorted(telling, key=lambda question: (-question.bits, question.what))[:MOST_QUESTIONS])


def speaks_against(cause: RankedCause) -> str | None:
    """What would refute a cause: that what speaks for it is not so, else the heaviest that was not met."""
    met = {(argument.rule, argument.reason) for argument in cause.arguments_against}
    unmet = [e for e in cause.entry.cause.evidence if e.weight < 0 and (e.rule, e.reason) not in met]
    supporting = {argument.rule for argument in cause.arguments_for}

    def refutes_less(evidence: Evidence) -> tuple[bool, float]:
        takes_support = evidence.outcome is Outcome.CLEAR and evidence.rule in supporting
        return not takes_support, evidence.weight

    strongest = min(unmet, key=refutes_less, default=None)
    return strongest.reason if strongest else None


def _is_open(cause: RankedCause) -> bool:
    in_doubt = 1 - SURE < cause.probability < SURE
    return in_doubt and cause.standing not in {Standing.PROVED, Standing.CONTRADICTED}


def _logs(causes: list[RankedCause], examination: Examination) -> Iterable[Question]:
    """What a line of logging would tell, by all the rules that it lets look."""
    rules: dict[str, set[str]] = defaultdict(set)
    for one in examination.not_examined:
        if one.missing.log_this:
            rules[one.missing.log_this].add(one.rule.name)
    for line, names in rules.items():
        told = {cause.name: max(_bits(cause, rule) for rule in names) for cause in causes}
        decides = tuple(sorted((name for name, bits in told.items() if bits > 0), key=lambda n: -told[n]))
        yield Question(Means.LOG, line, decides, sum(told.values()))


def _experiments(causes: list[RankedCause]) -> Iterable[Question]:
    for cause in causes:
        yield Question(Means.TRY, cause.entry.cause.confirm_by, (cause.name,), _doubt(cause.probability))


def _bits(cause: RankedCause, rule: str) -> float:
    """By how much a rule's answer is expected to lessen the doubt about a cause."""
    if_there, if_not = _how_often_found(cause, rule)
    p = cause.probability
    found = p * if_there + (1 - p) * if_not
    if not 0 < found < 1:
        return 0.0
    after = found * _doubt(p * if_there / found) + (1 - found) * _doubt(p * (1 - if_there) / (1 - found))
    return _doubt(p) - after


def _how_often_found(cause: RankedCause, rule: str) -> tuple[float, float]:
    """The chances that a rule finds something, with the cause and without it, by the cause's own weights."""
    said = [evidence for evidence in cause.entry.cause.evidence if evidence.rule == rule]
    found = math.exp(max((e.weight for e in said if e.outcome is Outcome.FOUND), key=abs, default=0.0))
    clear = math.exp(min((e.weight for e in said if e.outcome is Outcome.CLEAR), default=0.0))
    if found == clear:
        return 0.0, 0.0
    if (found - 1) * (clear - 1) < 0:
        without = (1 - clear) / (found - clear)
        return without * found, without
    return min(FALSE_ALARMS * found, 1 - FALSE_ALARMS), FALSE_ALARMS


def _doubt(probability: float) -> float:
    """The entropy of a yes or no, in bits."""
    if not 0 < probability < 1:
        return 0.0
    rest = 1 - probability
    return -probability * math.log2(probability) - rest * math.log2(rest)
