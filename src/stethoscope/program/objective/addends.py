"""The addends of a minimised value: a sum taken apart, inside the functions that make it too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.batches import is_loader
from stethoscope.program.objective.declared_numbers import number
from stethoscope.program.objective.listed_terms import summed_terms
from stethoscope.program.objective.own_losses import own_loss
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Items, Site, Value, inputs

MOST_VISITED = 400
MOST_TAKEN_APART = 600  # values of one sum that are looked into
DEPTH = 30


@dataclass(frozen=True, slots=True, eq=False)
class Addend:
    """A part of a sum, and the known number that all of it is multiplied with further out."""

    value: Value
    factor: float = 1.0
    scaled_at: Site | None = None


def addends_of(run: Execution, value: Value, depth: int) -> Iterator[Addend]:
    """The parts of a sum, looked for inside the functions that make it."""
    yield from _Sum(run).parts(value, 1.0, depth, is_common=True)


class _Sum:
    """Takes one sum apart; what was looked into is counted, since branches may hold each other many times."""

    def __init__(self, run: Execution) -> None:
        self.run = run
        self.left = MOST_TAKEN_APART

    def parts(self, value: Value, factor: float, depth: int, is_common: bool) -> list[Addend]:
        """The addends of a value; `is_common` says that it is the whole sum, whose scale does not matter."""
        self.left -= 1
        if depth == 0 or self.left < 0:
            return [Addend(value, factor)]
        match value:
            case Applied(callee="+" | "-", args=[left, right]):
                return [
                    *self.parts(left, factor, depth - 1, is_common=False),
                    *self.parts(right, factor, depth - 1, is_common=False),
                ]
            case Applied(callee="*" | "/" | ".mul" | ".div"):
                return self._scaled(value, factor, depth, is_common)
            case Applied() if (listed := summed_terms(value)) is not None:
                return [
                    part
                    for item, weight in listed
                    for part in self.parts(item, factor * weight, depth - 1, is_common=False)
                ]
            case Applied(callee=callee, args=[Applied() as summed]) if (
                callee in {".mean", "torch.mean"} and not value.keywords
            ):
                # The mean of a sum, such as that of weighed pictures, is the sum of the means.
                inner = self.parts(summed, factor, depth - 1, is_common)
                return inner if len(inner) > 1 and _are_means(self.run, inner) else [Addend(value, factor)]
            case Delayed() if not is_network_pass(self.run.index, value):
                inner = self.parts(self.run.expand(value), factor, depth - 1, is_common)
                return inner if len(inner) > 1 else [Addend(value, factor)]
            case Choice(options=options):
                # Optional terms are judged as they are where they are on.
                return max((self.parts(o, factor, depth - 1, is_common) for o in options), key=len)
            case Constant():
                return []
            case Applied(callee="sum", args=[Items(items=items), *_]):
                return [part for i in items for part in self.parts(i, factor, depth - 1, is_common=False)]
        loss = own_loss(self.run, value)
        if loss is not None:
            return self.parts(loss, factor, depth - 1, is_common)
        return [Addend(value, factor)]

    def _scaled(self, value: Applied, factor: float, depth: int, is_common: bool) -> list[Addend]:
        first, *others = value.args
        pairs = [(first, others[0])] if others else []
        if value.callee == "*" and others:
            pairs.append((others[0], first))
        for inner, scale in pairs:
            known = number(scale)
            if known is None and not is_common:
                continue
            times = 1.0 if not known else known if value.callee in {"*", ".mul"} else 1 / known
            found = self.parts(inner, factor * times, depth - 1, is_common)
            if len(found) > 1:
                at = value.site if known is not None else None
                return [Addend(part.value, part.factor, at or part.scaled_at) for part in found]
        return [Addend(value, factor)]


def _are_means(run: Execution, addends: Sequence[Addend]) -> bool:
    """Whether each addend is a mean already, over all but one axis."""
    return all(
        any(one.callee in {".mean", "torch.mean"} for one in applied_in(run, addend.value))
        for addend in addends
    )


def made_at(run: Execution, value: Value) -> Site | None:
    """Where a term is computed, behind its weight and inside the functions that it is made by."""
    for _ in range(DEPTH):
        match value:
            case Applied(callee="*" | "/" | "neg" | ".mul", args=args):
                made = [arg for arg in args if isinstance(arg, Applied | Delayed)]
                if len(made) != 1:
                    break
                value = made[0]
            case Delayed() if not is_network_pass(run.index, value):
                inner = run.expand(value)
                if not isinstance(inner, Applied | Delayed):
                    break
                value = inner
            case _:
                break
    return value.site if isinstance(value, Applied | Delayed) else None


def applied_in(run: Execution, value: Value, formula_alone: bool = False) -> Iterator[Applied]:
    """The operations inside a value, the outermost first, networks not entered.

    `formula_alone` leaves out what networks are given, and how the data of a loader were made.
    """
    seen: set[int] = set()
    waiting = deque([value])
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.popleft()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied):
            yield current
        is_network = is_network_pass(run.index, current)
        if isinstance(current, Delayed) and not is_network:
            waiting.append(run.expand(current))
        if not (formula_alone and (is_network or is_loader(current))):
            waiting.extend(inputs(current))
