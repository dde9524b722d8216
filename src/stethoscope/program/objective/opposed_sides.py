"""Which way two networks that play against each other are pushed, tried on numbers.

A discriminator is run on data and on what a generator made. What is minimised is computed with a larger and
a smaller judgement in its place: whether it rises or falls says which way that judgement is pushed. The
discriminator must push generated samples the other way than real ones, and the generator the other way than
the discriminator does. Nothing depends on labels, names or on which end means real.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import cuts_gradient
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
    is_nothing,
)

DEPTH = 24
MOST_TERMS = 24
LOSS_WORDS = frozenset({"loss", "losses", "criterion", "objective", "cost"})
MOST_REACHED = 400
SIDES = 2
# Between the labels that people use, so that squared distances to them are on their slopes as well.
LEVELS = (0.2, 0.4, 0.6)
SHAPES = ((4, 1), (4, 1, 4, 4), (4,))


class Sample(StrEnum):
    """Whose sample a judgement is of, and who is pushed by it."""

    REAL = "real"
    FAKE = "fake"
    PLAYED = "played"  # generated, with the generator's gradient


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A judgement in something minimised, and whether minimising raises (+1) or lowers (-1) it."""

    network: Hashable
    part: Sample
    way: int
    judged: Site
    sink: Site
    has_real: bool


@dataclass(frozen=True, slots=True, eq=False)
class SameSide:
    """Two judgements that are pushed the same way and should be pushed apart."""

    first: Push
    second: Push


@dataclass(frozen=True, slots=True, eq=False)
class PushedPass:
    """A network's answer in something minimised, and whether that raises (+1) or lowers (-1) it, or 0."""

    network: Hashable
    made: Applied | Delayed
    way: int

    @property
    def site(self) -> Site:
        """Where the network is asked."""
        return self.made.site


def pushed_passes(one: Minimised) -> Iterator[PushedPass]:
    """All answers of networks in something minimised, and the way that they are pushed, 0 if unsure."""
    for value, sign in signed_addends(one.run, one.sink.value):
        cut = _behind_cuts(value)
        for operand in _unknowns(one.run.index, value):
            asked = _whole_answer(operand)
            if not isinstance(asked, Applied | Delayed) or {id(operand), id(asked)} & cut:
                continue
            network = _network(asked) if is_model_call(one.run.index, asked) else None
            way = _way(one.run.index, value, operand) if network is not None else 0
            if network is not None and not {id(operand), id(asked)} & one.run.unrecorded.keys():
                yield PushedPass(network, asked, -way * sign)


def _whole_answer(value: Value) -> Value:
    """The pass of a network that gives several answers, for one of them."""
    while isinstance(value, Part) and isinstance(value.key, int):
        value = value.base
    return value


def signed_addends(run: Execution, value: Value) -> list[tuple[Value, int]]:
    """The addends of what is minimised, with their signs."""
    return list(_terms(run, value, 1, DEPTH))[:MOST_TERMS]


@remembered
def same_sides(index: Index, settings: SettingsTree) -> tuple[SameSide, ...]:
    """The discriminators of a program whose game has one side."""
    if not any("backward" in source.text or "training_step" in source.text for source in index.program):
        return ()
    pushes: list[Push] = []
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            with (
                warnings.catch_warnings()
            ):  # shapes that fit in no way: the result is no number, which is seen
                warnings.simplefilter("ignore")
                pushes.extend(_pushes(one))
        except (Exhausted, RecursionError):
            continue
    return tuple(_judged(pushes))


def _judged(pushes: list[Push]) -> Iterator[SameSide]:
    for network in dict.fromkeys(push.network for push in pushes):
        own = [push for push in pushes if push.network == network]
        real, fake = (_agreed(own, part) for part in (Sample.REAL, Sample.FAKE))
        is_split = any(push.part is Sample.FAKE for push in own)
        # Without a detached sample the discriminator's own loss is the one that has real ones as well.
        playing = [push for push in own if push.part is Sample.PLAYED and (is_split or not push.has_real)]
        judging = [push for push in own if push.part is Sample.PLAYED and push.has_real and not is_split]
        fake = fake or _one_way(judging)
        played = _one_way(playing)
        if real is not None and fake is not None and real.way == fake.way:
            yield SameSide(fake, real)
        elif fake is not None and played is not None and real is not None and fake.way == played.way:
            yield SameSide(played, fake)


def _agreed(pushes: list[Push], part: Sample) -> Push | None:
    """A push of this kind by the discriminator, where all of them go one way."""
    wanted = [push for push in pushes if push.part is part]
    if part is Sample.REAL:  # a relativistic generator is pushed by real samples too
        alone = [push for push in wanted if not _plays(push, pushes)]
        wanted = alone or wanted
    return _one_way(wanted)


def _plays(push: Push, pushes: list[Push]) -> bool:
    """Whether a generator learns from what holds a push, beside a discriminator that learns elsewhere."""
    is_split = any(other.part is Sample.FAKE for other in pushes)
    return is_split and any(
        other.part is Sample.PLAYED and other.sink.node is push.sink.node for other in pushes
    )


def _one_way(pushes: list[Push]) -> Push | None:
    return pushes[0] if pushes and len({push.way for push in pushes}) == 1 else None


# Pushes


def _pushes(one: Minimised) -> Iterator[Push]:
    terms = signed_addends(one.run, one.sink.value)
    found = [
        (value, sign, operand, _role(one.run, operand))
        for value, sign in terms
        for cut in (_behind_cuts(value),)
        for operand in _unknowns(one.run.index, value)
        if id(operand) not in cut
    ]
    networks: dict[Hashable, set[Sample]] = {}
    for _, _, _, role in found:
        if role is not None:
            networks.setdefault(role[0], set()).add(role[1])
    for value, sign, operand, role in found:
        share = _share(one.run.index, operand)
        judging = share[0] if share is not None else operand
        if role is None or not isinstance(judging, Applied | Delayed):
            continue
        way = _way(one.run.index, value, operand)
        if way:
            has_real = Sample.REAL in networks[role[0]]
            yield Push(role[0], role[1], -way * sign, judging.site, one.sink.site, has_real)


def _terms(run: Execution, value: Value, sign: int, depth: int) -> Iterator[tuple[Value, int]]:
    """The addends of a sum with their signs, those of the functions that make it too."""
    if depth == 0:
        return
    match value:
        case Applied(callee="+", args=[left, right]):
            yield from _terms(run, left, sign, depth - 1)
            yield from _terms(run, right, sign, depth - 1)
        case Applied(callee="-", args=[left, right]):
            yield from _terms(run, left, sign, depth - 1)
            yield from _terms(run, right, -sign, depth - 1)
        case Applied(callee="neg", args=[inner]):
            yield from _terms(run, inner, -sign, depth - 1)
        case Applied(callee="*" | "/", args=[inner, Constant(value=int() | float() as number)]) if number:
            yield from _terms(run, inner, sign if number > 0 else -sign, depth - 1)
        case Applied(callee="*", args=[Constant(value=int() | float() as number), inner]) if number:
            yield from _terms(run, inner, sign if number > 0 else -sign, depth - 1)
        case Applied(callee="sum", args=[Items(items=items), *_]):
            for item in items:
                yield from _terms(run, item, sign, depth - 1)
        case Delayed() if not is_model_call(run.index, value):
            inner = run.expand(value)
            parts = list(_terms(run, inner, sign, depth - 1)) if inner is not value else []
            yield from parts or [(value, sign)]
        case Choice(options=options):
            for option in options:
                yield from _terms(run, option, sign, depth - 1)
        case Applied():
            yield value, sign


def _role(run: Execution, value: Value) -> tuple[Hashable, Sample] | None:
    """The network that gave a judgement, and of whose sample; None for what is no judgement."""
    share = _share(run.index, value)
    judging = share[0] if share is not None else value
    if not is_model_call(run.index, judging) or not isinstance(judging, Applied | Delayed):
        return None
    network = _network(judging)
    judged = share[1] if share is not None else _judged_by(judging)
    if _is_called_a_loss(judging):
        return None  # an unknown loss is asked what a network gave, and judges no sample
    if network is None or judged is None or id(value) in run.unrecorded or id(judging) in run.unrecorded:
        return None  # a judgement without gradients is a target, and pushes nobody
    if not comes_from_model(run, judged):
        return network, Sample.REAL
    is_played = id(judged) not in run.unrecorded and comes_from_model(run, judged, detached_counts=False)
    return network, Sample.PLAYED if is_played else Sample.FAKE


def _network(value: Applied | Delayed) -> Hashable:
    if isinstance(value, Delayed):
        bound = value.callee.bound if isinstance(value.callee, FunctionValue) else None
        return id(bound) if bound is not None else None
    if value.callee == "()":
        return _path(value.args[0])
    return id(value.maker) if value.maker is not None else None


def _is_called_a_loss(value: Applied | Delayed) -> bool:
    called = value.args[0] if isinstance(value, Applied) and value.callee == "()" and value.args else None
    name = called.key if isinstance(called, Part) else called.name if isinstance(called, Leaf) else ""
    return bool(LOSS_WORDS.intersection(words(str(name))))


def _path(value: Value) -> Hashable:
    """What an unknown callable is called: `discriminator`, `self.net_d`."""
    if isinstance(value, Leaf):
        return value.name
    if isinstance(value, Part):
        return _path(value.base), value.key
    return id(value) if isinstance(value, Instance | Applied) else None


def _unknowns(index: Index, value: Value) -> list[Value]:
    """What a value is computed from, without the making of its losses."""
    shares = frozenset(id(one) for one in _reached(value) if _share(index, one) is not None)
    found = operands_of(index, value, shares)
    return [one for one in found if not (isinstance(one, Applied) and _is_made(one.callee))]


def _reached(value: Value, stops: Callable[[Value], bool] | None = None) -> Iterator[Value]:
    """A value and what it is made from; not behind what `stops` says, but with it."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_REACHED:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            if stops is None or not stops(one):
                waiting.extend(inputs(one))


def _behind_cuts(value: Value) -> frozenset[int]:
    """What a value is made from by way of `.detach()` alone: nobody is pushed by it."""
    cuts = [one for one in _reached(value) if cuts_gradient(one)]
    if not cuts:
        return frozenset()
    pushed = {id(one) for one in _reached(value, cuts_gradient)}
    return frozenset(id(one) for cut in cuts for one in _reached(cut) if id(one) not in pushed)


def _share(index: Index, value: Value) -> tuple[Applied | Delayed, Value] | None:
    """Of `net(torch.cat([real, fake])).chunk(2)`, cut apart again: the pass, and what a part of it is of."""
    match value:
        case Part(base=Applied(callee=callee, args=[whole, *_]), key=int() as place):
            if callee.rpartition(".")[2] not in {"chunk", "split", "tensor_split"}:
                return None
        case Applied(callee="[]", args=[whole, Applied(callee="slice", args=[first, last, *_])]):
            place = 0 if is_nothing(first) and not is_nothing(last) else 1
        case _:
            return None
    if not isinstance(whole, Applied | Delayed) or not is_model_call(index, whole):
        return None
    match _judged_by(whole):
        case Applied(callee=callee, args=[Items(items=items), *_]):
            is_joined = callee.rpartition(".")[2] in {"cat", "concat"} and len(items) == SIDES
            return (whole, items[place]) if is_joined and place < SIDES else None
    return None


def _judged_by(value: Applied | Delayed) -> Value | None:
    given = value.args[1:] if isinstance(value, Applied) and value.callee == "()" else value.args
    return given[0] if 0 < len(given) <= 2 else None


def _is_made(callee: str) -> bool:
    return callee.rpartition(".")[2][:1].isupper() and not callee.endswith("()")


def _way(index: Index, value: Value, operand: Value) -> int:
    """+1 where the value rises with an operand, -1 where it falls, 0 where neither is sure."""
    others = [other for other in _unknowns(index, value) if other is not operand]
    for shape in SHAPES:
        scores = [_at(index, value, operand, others, level, shape) for level in LEVELS]
        known = [one for one in scores if one is not None and np.isfinite(one)]
        if len(known) < len(LEVELS):
            continue
        steps = np.diff(known)
        if np.all(steps > 0) or np.all(steps < 0):
            return 1 if steps[0] > 0 else -1
        return 0
    return 0


def _at(
    index: Index, value: Value, operand: Value, others: list[Value], level: float, shape: tuple[int, ...]
) -> float | None:
    given: list[npt.NDArray[np.float64]] = [np.full(shape, level), *(np.full(shape, 0.5) for _ in others)]
    return score(index, value, (operand, *others), given)
