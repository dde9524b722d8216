"""Every minimised value that is a sum, taken apart: sizes and weights of its addends, and the idle ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.objective.addends import DEPTH, Addend, addends_of
from stethoscope.program.objective.dropped_terms import dropped_sums
from stethoscope.program.objective.idle_terms import DROPPED, MISNAMED, WEIGHED_OUT, IdleTerm, cut_at
from stethoscope.program.objective.misnamed_weights import misnamed_weight
from stethoscope.program.objective.own_losses import is_one_number
from stethoscope.program.objective.silent_weights import silent_weight
from stethoscope.program.objective.term_sizes import TermSize, sized
from stethoscope.program.objective.term_weights import KnownNumbers, TermWeight, weighed
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.values import Applied, Delayed, Site

MOST_TERMS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Objectives:
    """For each minimised value the addends that could be computed, the weights of the means, and the addends
    that no gradient goes through."""

    sizes: tuple[tuple[TermSize, ...], ...]
    weights: tuple[TermWeight, ...]
    idle: tuple[IdleTerm, ...] = ()


@remembered
def objectives(index: Index, settings: SettingsTree) -> Objectives:
    """Take every minimised value apart that is a sum."""
    sizes: dict[int, tuple[TermSize, ...]] = {}
    weights: dict[int, tuple[TermWeight, ...]] = {}
    idle: dict[int, IdleTerm] = {}
    for one in minimised(index, settings):
        key = id(one.sink.site.node)
        if key in sizes or key in weights:
            continue
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            addends = list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]
            if len(addends) < 2:
                continue
            idle.update({id(term.cut.node): term for term in _idle(one, addends)})
            weights[key] = tuple(weighed(one, KnownNumbers(index, settings), addends))
            with warnings.catch_warnings():  # empty slices and the like: no number, which is seen
                warnings.simplefilter("ignore")
                sizes[key] = tuple(sized(one, index, settings, addends))
        except (Exhausted, RecursionError):
            continue
    idle.update({id(term.node): IdleTerm(term, term, sink, DROPPED) for term, sink in dropped_sums(index)})
    return Objectives(
        tuple(terms for terms in sizes.values() if terms),
        tuple(term for terms in weights.values() for term in terms),
        tuple(idle.values()),
    )


def _idle(one: Minimised, addends: Sequence[Addend]) -> Iterator[IdleTerm]:
    cuts = [cut_at(one.run, addend.value) for addend in addends]
    if all(cuts) or not any(is_one_number(one.run, addend.value) for addend in addends):
        return  # what is learned from was not seen, or this is no sum of losses
    for addend, cut in zip(addends, cuts, strict=True):
        if not isinstance(addend.value, Applied | Delayed):
            continue
        if cut is not None:
            yield IdleTerm(addend.value.site, cut, one.sink.site)
            continue
        misnamed = misnamed_weight(one.run, addend.value)
        if misnamed is not None:
            yield IdleTerm(_inner(addend.value), misnamed, one.sink.site, MISNAMED)
            continue
        weight = silent_weight(one.run.index, addend.value, one.sink.site)
        if weight is not None:
            yield IdleTerm(addend.value.site, weight, one.sink.site, WEIGHED_OUT)


def _inner(term: Applied | Delayed) -> Site:
    """Where what is weighed was made."""
    made = [arg for arg in term.args if isinstance(arg, Applied | Delayed)]
    return made[0].site if made else term.site
