"""What is left of a cause's evidence once the causes that the source or the settings show have taken theirs.

A loss that runs away speaks for a learning rate that is too high, until the source shows that no gradient is
ever cleared. What a curve shows is then accounted for, as surely as that cause is there, and speaks for the
others only with the rest of its weight. A cause that has evidence of its own in source or settings keeps all
of it: two faults may well be there at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from stethoscope.causes.cause import CURVE_FAMILIES, Argument, Outcome, RankedCause
from stethoscope.causes.weighing import chance, standing_of, total


def residual(causes: list[RankedCause]) -> list[RankedCause]:
    """The causes, those that only curves speak for weighed again."""
    accounted = accounted_for([cause for cause in causes if cause.stands])
    return [cause if _is_shown(cause) else _weighed_again(cause, accounted) for cause in causes]


def accounted_for(standing: Iterable[RankedCause]) -> dict[str, RankedCause]:
    """The rules in which causes show that stand by source or settings, each with the surest of them."""
    accounted: dict[str, RankedCause] = {}
    for cause in sorted(standing, key=lambda cause: cause.probability):
        accounted |= dict.fromkeys(_shows(cause) if _is_shown(cause) else (), cause)
    return accounted


def _is_shown(cause: RankedCause) -> bool:
    """Whether something else than a curve speaks for a cause."""
    return any(argument.family not in CURVE_FAMILIES for argument in cause.arguments_for)


def _shows(cause: RankedCause) -> set[str]:
    cited = {e.rule for e in cause.entry.cause.evidence if e.weight > 0 and e.outcome is Outcome.FOUND}
    return cited | set(cause.entry.cause.shows)


def _weighed_again(cause: RankedCause, accounted: Mapping[str, RankedCause]) -> RankedCause:
    if not any(argument.rule in accounted for argument in cause.arguments_for):
        return cause
    left = tuple(_left(argument, accounted) for argument in cause.arguments_for)
    arguments = (*left, *cause.arguments_against)
    probability = chance(cause.entry.cause.prior + total(arguments))
    carries = standing_of(probability, left, cause.arguments_against)
    return replace(cause, arguments_for=left, probability=probability, standing=carries)


def _left(argument: Argument, accounted: Mapping[str, RankedCause]) -> Argument:
    cause = accounted.get(argument.rule)
    if cause is None or argument.family not in CURVE_FAMILIES:
        return argument
    reason = f"{argument.reason} (accounted for by {cause.name})"
    return replace(argument, weight=argument.weight * (1.0 - cause.probability), reason=reason)
