"""explain: findings -> ranked causes, by weights of evidence for and against.

One file per cause, found by folder and named by its slug. A cause's score is its prior log-odds plus
the weights of the evidence met. Evidence from curves is capped, per family and over all of them, so
that correlated symptoms are not counted twice and code outweighs shapes. Each probability is the
chance that this cause is present: two causes may both be near certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from types import ModuleType

from stethoscope.causes.asking import speaks_against, to_ask
from stethoscope.causes.cause import (
    MODERATE,
    Argument,
    BenignExplanation,
    Cause,
    CauseEntry,
    Evidence,
    Explanation,
    Means,
    Outcome,
    Question,
    RankedCause,
    Standing,
)
from stethoscope.causes.residual import accounted_for, residual
from stethoscope.causes.tried import tried
from stethoscope.causes.weighing import SUPPORTED_FROM, chance, standing_of, stated, total
from stethoscope.discovery import modules_in, spoken_name, summary
from stethoscope.findings import Examination, Found, Severity
from stethoscope.run import Proof

__all__ = [
    "Argument",
    "BenignExplanation",
    "CauseEntry",
    "Explanation",
    "Means",
    "Question",
    "RankedCause",
    "Standing",
    "accounted_for",
    "catalogue",
    "explain",
    "speaks_against",
]

WORTH_NAMING = 0.05  # below this a cause is named only if the evidence contradicts it

HEALTHY_PRIOR = 2.0  # log-odds that a run nothing was found in is well
UNKNOWN_PRIOR = -3.0
COST_OF_SEVERITY = {Severity.CRITICAL: 6.0, Severity.WARNING: 4.0, Severity.NOTE: 0.0}


def explain(examination: Examination, proofs: tuple[Proof, ...] = ()) -> Explanation:
    """Decide between the explanations of what the examination found, and of what was tried."""
    benign = _benign(examination)
    excused = {found for explanation in benign for found in explanation.explains}
    remaining = replace(examination, found=tuple(f for f in examination.found if f not in excused))
    ranked = [_ranked(entry, remaining, proofs) for entry in catalogue() if not entry.cause.benign]
    causes = _roots_first(residual(ranked))
    named = tuple(
        replace(cause, probability=stated(cause.probability)) for cause in causes if _worth_naming(cause)
    )
    symptoms = tuple(found for found in remaining.found if found.severity is not Severity.NOTE)
    ask = to_ask(named, remaining)
    still = next((found for found in remaining.found if found.finding.evidence.get("undecided")), None)
    healthy, unknown = _healthy(symptoms), _unknown(symptoms, named)
    return Explanation(named, benign, healthy, unknown, symptoms, ask, still)


@cache
def catalogue() -> tuple[CauseEntry, ...]:
    """Every cause there is, in the order of the names."""
    return tuple(_entry(module) for module in modules_in(__name__) if hasattr(module, "CAUSE"))


def _entry(module: ModuleType) -> CauseEntry:
    return CauseEntry(spoken_name(module), module.CAUSE, summary(module), (module.__doc__ or "").strip())


def _ranked(entry: CauseEntry, examination: Examination, proofs: tuple[Proof, ...] = ()) -> RankedCause:
    arguments = (*_arguments(entry.cause, examination), *tried(entry.name, proofs))
    speaking_for = tuple(argument for argument in arguments if argument.weight > 0)
    speaking_against = tuple(argument for argument in arguments if argument.weight < 0)
    probability = chance(entry.cause.prior + total(arguments))
    standing = standing_of(probability, speaking_for, speaking_against)
    onsets = [a.finding.onset for a in speaking_for if a.finding and a.finding.onset is not None]
    onset = min(onsets, default=None)
    return RankedCause(entry, probability, standing, speaking_for, speaking_against, onset)


def _arguments(cause: Cause, examination: Examination) -> Iterable[Argument]:
    """The evidence that was met in this run; what was not examined is no evidence."""
    clear = {rule.name: rule for rule in examination.clear}
    for evidence in cause.evidence:
        if evidence.outcome is Outcome.CLEAR:
            if evidence.rule in clear:
                rule = clear[evidence.rule]
                yield Argument(evidence.weight, evidence.reason, rule.name, rule.family)
            continue
        fitting = _fitting(evidence, examination)
        if fitting:
            clearest, *others = fitting
            yield Argument(
                _weight(evidence, clearest, cause.benign),
                evidence.reason,
                evidence.rule,
                clearest.rule.family,
                clearest.finding,
                tuple(found.finding for found in others),
            )


def _weight(evidence: Evidence, seen: Found, benign: bool) -> float:
    """The evidence's weight by how clearly it was seen. A note alone never makes a cause stand."""
    weight = evidence.weight * seen.finding.strength
    return min(weight, MODERATE) if seen.severity is Severity.NOTE and not benign else weight


def _fitting(evidence: Evidence, examination: Examination) -> list[Found]:
    """The findings that this evidence speaks of, the clearest first."""
    fitting = [
        found
        for found in examination.found
        if found.rule.name == evidence.rule and (evidence.when is None or evidence.when(found.finding))
    ]
    return sorted(fitting, key=lambda found: -found.finding.strength)


def _worth_naming(cause: RankedCause) -> bool:
    """Only something seen makes a cause worth naming; that a rule was clear does not."""
    if cause.standing is Standing.CONTRADICTED:
        return any(argument.finding for argument in (*cause.arguments_for, *cause.arguments_against))
    return any(argument.finding for argument in cause.arguments_for) and cause.probability >= WORTH_NAMING


def _roots_first(causes: list[RankedCause]) -> list[RankedCause]:
    """Most probable first; a cause that another, earlier one brings about stands below it."""
    standing = {cause.name: cause for cause in causes if cause.stands}
    marked = [_with_root(cause, standing) for cause in causes]
    return sorted(marked, key=_rank)


def _with_root(cause: RankedCause, standing: dict[str, RankedCause]) -> RankedCause:
    if not cause.stands:
        return cause
    for root in standing.values():
        if cause.name in root.entry.cause.leads_to and _not_later(root.onset, cause.onset):
            return replace(cause, consequence_of=root.name)
    return cause


def _not_later(root: int | None, consequence: int | None) -> bool:
    # A fault in code or settings has no onset: it was there from the start.
    return root is None or consequence is None or root <= consequence


def _rank(cause: RankedCause) -> tuple[bool, bool, float, float, float, str]:
    contradicted = cause.standing is Standing.CONTRADICTED
    onset = math.inf if cause.onset is None else float(cause.onset)
    consequence = cause.consequence_of is not None
    return contradicted, consequence, -round(cause.probability, 2), -_before_caps(cause), onset, cause.name


def _before_caps(cause: RankedCause) -> float:
    """The log-odds without a cap: what orders causes of which the caps make the same."""
    arguments = (*cause.arguments_for, *cause.arguments_against)
    return round(cause.entry.cause.prior + sum(argument.weight for argument in arguments), 1)


def _benign(examination: Examination) -> tuple[BenignExplanation, ...]:
    ranked = [(_ranked(entry, examination), entry) for entry in catalogue() if entry.cause.benign]
    return tuple(
        BenignExplanation(entry, cause.probability, _explained(entry, examination), _why(cause))
        for cause, entry in ranked
        if cause.arguments_for and cause.probability >= SUPPORTED_FROM
    )


def _explained(entry: CauseEntry, examination: Examination) -> tuple[Found, ...]:
    return tuple(found for found in examination.found if found.rule.name in entry.cause.explains)


def _why(cause: RankedCause) -> str:
    strongest = max(cause.arguments_for, key=lambda argument: argument.weight)
    return strongest.finding.message if strongest.finding else strongest.reason


def _healthy(symptoms: tuple[Found, ...]) -> float:
    burden = sum(COST_OF_SEVERITY[found.severity] * found.finding.strength for found in symptoms)
    return chance(HEALTHY_PRIOR - burden)


def _unknown(symptoms: tuple[Found, ...], causes: tuple[RankedCause, ...]) -> float:
    """The chance that something is wrong which no named cause accounts for."""
    standing = [cause for cause in causes if cause.stands]
    explained = {f for cause in standing for a in cause.arguments_for for f in a.findings}
    accounted = accounted_for(standing)
    left = [
        _weight_of(found)
        for found in symptoms
        if found.finding not in explained and found.rule.name not in accounted
    ]
    return chance(UNKNOWN_PRIOR + sum(left))


def _weight_of(found: Found) -> float:
    return COST_OF_SEVERITY[found.severity] * found.finding.strength
