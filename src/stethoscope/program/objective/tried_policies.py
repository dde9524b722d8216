"""Policy gradients tried on numbers: which way the likelihood of an action goes with what it was worth.

A term of a loss is computed with numbers in the place of the log-probabilities that learn, and of whatever
carries no gradient. How steeply it rises with each log-probability says what stands beside it: where that
goes along with one of the given numbers, actions are made rarer the more they were worth; where it goes
against them, they are made more likely. Names of the two do not matter.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.known_numbers import known_number
from stethoscope.program.objective.lowered_rewards import OTHERWISE
from stethoscope.program.objective.opposed_sides import signed_addends
from stethoscope.program.objective.probe import Array, is_operand, operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import cuts_gradient
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.given_back import MOVES
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_about_shape, is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

SAMPLES = 12
STEP = 1e-4
CLEAR = 0.98  # of a correlation
MOST_VISITED = 300
MOST_GIVEN = 6
USUAL = 0.2  # what a number is taken for that nothing says
MASKS = frozenset({"mask", "masks", "masked"})  # what it sums to divides, and is no worth
FAR = 0.7  # in log-probabilities: beyond every bound that people set
KEEPING = frozenset({".sum", ".squeeze", ".view", ".reshape", ".flatten", ".unsqueeze"})
SETTINGS = frozenset({
    "clip", "eps", "epsilon", "coef", "coeff", "coefficient", "alpha", "beta", "weight", "vf", "ent", "tau",
    "c1", "c2", "range", "lam", "lambda", "scale", "param",
})  # fmt: skip
OF_REWARDS = re.compile(r"(?i)reward|advantage|discounted|returns\b|\b(?:adv|advs|rew|rews|gae)\b")


@dataclass(frozen=True, slots=True, eq=False)
class TriedPolicy:
    """A term that pushes likelihoods the wrong way, or what it should not push.

    `kind` is "policy", "entropy", "bounds", "flat" or "worth".
    """

    site: Site
    sink: Site
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """An addend, what of it learns, and what is given."""

    value: Value
    sign: int
    likelihoods: tuple[Value, ...]
    entropies: tuple[Value, ...]
    given: tuple[Value, ...]
    numbers: tuple[tuple[Value, float], ...]
    moving: tuple[Value, ...]  # what is given, and learns all the same


@remembered
def tried_policies(index: Index, settings: SettingsTree) -> tuple[TriedPolicy, ...]:
    """The policy gradients of a program that go the wrong way."""
    if any("maximize=True" in source.text for source in index.program):
        return ()
    if not any(OF_REWARDS.search(source.text) for source in index.program):
        return ()
    found: dict[int, TriedPolicy] = {}
    for one in minimised(index, settings):
        if is_test(one.sink.site.source):
            continue
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for tried in _tried(one):
                    found.setdefault(id(tried.site.node), tried)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _tried(one: Minimised) -> Iterator[TriedPolicy]:
    terms = [_term(one.run, value, sign) for value, sign in signed_addends(one.run, one.sink.value)]
    are_right = False
    for term in terms:
        if len(term.likelihoods) != 1 or not 0 < len(term.given) <= MOST_GIVEN:
            continue
        way = _way(one.run, term)
        are_right |= way < 0
        if way > 0:
            yield TriedPolicy(_site(term, one), one.sink.site, "policy")
        elif way < 0 and _keeps_the_better(one.run, term):
            yield TriedPolicy(_site(term, one), one.sink.site, "bounds")
        elif way < 0 and _is_worth_learned(one, term):
            yield TriedPolicy(_site(term, one), one.sink.site, "worth")
        elif way == 0 and _is_flat(one.run, term):
            yield TriedPolicy(_site(term, one), one.sink.site, "flat")
    for term in terms if are_right else ():
        if term.entropies and not term.likelihoods and _rises_with(one.run, term, term.entropies[0]):
            yield TriedPolicy(_site(term, one), one.sink.site, "entropy")


def _site(term: _Term, one: Minimised) -> Site:
    return term.value.site if isinstance(term.value, Applied | Delayed) else one.sink.site


def _term(run: Execution, value: Value, sign: int) -> _Term:
    """What a term is computed from: what learns, what is given, and plain numbers."""
    likelihoods: list[Value] = []
    entropies: list[Value] = []
    given: list[Value] = []
    numbers: list[tuple[Value, float]] = []
    moving: list[Value] = []
    waiting, seen = [value], set[int]()
    known: dict[int, bool] = {}
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop(0)
        if id(current) in seen or isinstance(current, Constant | Instance):
            continue
        seen.add(id(current))
        is_learning = learns(run, current, known)
        if is_learning and _is_of_actions(current, "log_prob"):
            likelihoods.append(current)
        elif is_learning and _is_of_actions(current, "entropy"):
            entropies.append(current)
        elif not is_learning and (number := known_number(run, current)) is not None:
            numbers.append((current, number))
        elif _is_a_setting(current):
            numbers.append((current, USUAL))
        elif is_operand(run.index, current) or not (is_learning or _only_scales(current)):
            given.append(current)
            moving.extend([current] if is_learning else [])
        elif isinstance(current, Applied) and current.callee in MOVES:
            waiting.extend(current.args[:1])
        else:
            waiting.extend(inputs(current))
    return _Term(
        value, sign, tuple(likelihoods), tuple(entropies), tuple(given), tuple(numbers), tuple(moving)
    )


def learns(run: Execution, value: Value, known: dict[int, bool]) -> bool:
    """Whether a gradient goes through a value into a network."""
    waiting: list[tuple[Value, bool]] = [(value, False)]
    while waiting:
        current, is_done = waiting.pop()
        if is_done:
            known[id(current)] = any(known.get(id(one), False) for one in inputs(current))
        elif id(current) not in known:
            is_cut = id(current) in run.unrecorded or cuts_gradient(current) or is_about_shape(current)
            known[id(current)] = not is_cut and is_model_call(run.index, current)
            if not (is_cut or known[id(current)] or isinstance(current, Instance)):
                waiting.append((current, True))
                waiting.extend((one, False) for one in inputs(current))
    return known[id(value)]


def _only_scales(value: Value) -> bool:
    """`-advantage`, `-1 * advantage`: the sign is in it, so what it is made of is asked."""
    if not isinstance(value, Applied):
        return False
    return value.callee == "neg" or (
        value.callee == "*" and any(isinstance(one, Constant) for one in value.args)
    )


def _is_a_setting(value: Value) -> bool:
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else ""
    return bool(SETTINGS & set(words(str(name))))


def _is_of_actions(value: Value, name: str) -> bool:
    """`dist.log_prob(action)`, added up over the parts of an action or not."""
    while (
        isinstance(value, Applied)
        and value.args
        and value.callee in {".sum", ".squeeze", ".view", ".reshape"}
    ):
        value = value.args[0]
    return isinstance(value, Applied) and value.callee == f".{name}"


# Which way


def _way(run: Execution, term: _Term) -> int:
    """+1 where a likelihood makes the term rise by what it is worth, -1 where it makes it fall, else 0."""
    moving = set(map(id, term.moving))
    fixed = (candidate for candidate in term.given if id(candidate) not in moving)
    ways = {way for candidate in fixed if (way := _way_with(run, term, candidate))}
    return ways.pop() if len(ways) == 1 else 0


def _way_with(run: Execution, term: _Term, candidate: Value) -> int:
    if (OTHERWISE | MASKS) & set(_spoken(candidate)):
        return 0
    likelihoods, worths = _draws()
    for others in (likelihoods, np.ones(SAMPLES)):
        slopes = _slopes(run, term, likelihoods, candidate, worths, others)
        if slopes is None or float(np.std(slopes)) < STEP / SAMPLES:
            continue
        together = float(np.corrcoef(slopes, worths)[0, 1])
        if abs(together) >= CLEAR:
            return 1 if together > 0 else -1
    return 0


def _spoken(value: Value) -> Iterator[str]:
    match value:
        case Applied() | Delayed():
            names = re.findall(r"[A-Za-z_]\w*", value.site.text[:200])
        case Leaf(name=name):
            names = [name]
        case Part(key=key):
            names = [str(key)]
        case _:
            names = []
    yield from (word for name in names for word in words(name))


def _draws() -> tuple[Array, Array]:
    """Log-probabilities, and what actions were worth: as much above as below nothing."""
    rng = np.random.default_rng(0)
    worths = rng.normal(size=SAMPLES)
    return rng.uniform(-1.5, -0.5, SAMPLES), worths - worths.mean()


def _slopes(
    run: Execution, term: _Term, at: Array, candidate: Value, worths: Array, others: Array
) -> Array | None:
    """How steeply the term rises with the likelihood of each sample."""
    base = _score(run, term, at, candidate, worths, others)
    if base is None:
        return None
    slopes = np.empty(SAMPLES)
    for place in range(SAMPLES):
        moved = at.copy()
        moved[place] += STEP
        there = _score(run, term, moved, candidate, worths, others)
        if there is None:
            return None
        slopes[place] = (there - base) / STEP
    return slopes * term.sign


def _score(
    run: Execution, term: _Term, at: Array, candidate: Value, worths: Array, others: Array
) -> float | None:
    operands = [term.likelihoods[0], *term.entropies, *term.given, *(value for value, _ in term.numbers)]
    given: list[object] = [at, *(np.ones(SAMPLES) for _ in term.entropies)]
    given.extend(worths if one is candidate else others for one in term.given)
    given.extend(number for _, number in term.numbers)
    return score(run.index, term.value, operands, given)


def _keeps_the_better(run: Execution, term: _Term) -> bool:
    """Whether what lies beyond the bounds of a ratio goes on being pushed, and what lies before is not."""
    likelihoods, worths = _draws()
    for candidate in term.given:
        if _way_with(run, term, candidate) >= 0:
            continue
        beyond = _slopes(run, term, likelihoods + FAR, candidate, worths, likelihoods)
        before = _slopes(run, term, likelihoods - FAR, candidate, worths, likelihoods)
        if beyond is None or before is None:
            continue
        good = worths > 0
        pushed = [np.abs(one) > STEP for one in (beyond[good], before[good], beyond[~good], before[~good])]
        is_turned = pushed[0].all() and not pushed[1].any() and not pushed[2].any() and pushed[3].all()
        if is_turned:
            return True
    return False


def _is_worth_learned(one: Minimised, term: _Term) -> bool:
    """Whether the critic is pushed by the policy's term, beside an error that it learns from."""
    if len(term.moving) != 1:
        return False
    asked = _network_of(term.moving[0])
    others = [other for other, _ in signed_addends(one.run, one.sink.value) if other is not term.value]
    return asked is not None and any(
        asked is _network_of(made) for other in others for made in operands_of(one.run.index, other)
    )


def _network_of(value: Value) -> object:
    """The pass of a network that a value is an answer of."""
    while isinstance(value, Part):
        value = value.base
    return value if isinstance(value, Delayed | Applied) else None


def _is_flat(run: Execution, term: _Term) -> bool:
    """Whether a term that changes with what is given does not move with the likelihood in it."""
    likelihoods, worths = _draws()
    is_moved = False
    for candidate in term.given:
        for others in (likelihoods, np.ones(SAMPLES)):
            slopes = _slopes(run, term, likelihoods, candidate, worths, others)
            if slopes is None or np.any(np.abs(slopes) > STEP):
                return False
            one, other = (
                _score(run, term, likelihoods, candidate, size * (worths + 1), others) for size in (1.0, 2.0)
            )
            is_moved |= one is not None and other is not None and abs(one - other) > STEP
    return is_moved


def _rises_with(run: Execution, term: _Term, entropy: Value) -> bool:
    """Whether a term rises with the entropy in it."""
    operands = [entropy, *term.given, *(value for value, _ in term.numbers)]
    rest: list[object] = [
        *(np.ones(SAMPLES) for _ in term.given),
        *(number for _, number in term.numbers),
    ]
    low, high = (
        score(run.index, term.value, operands, [np.full(SAMPLES, level), *rest]) for level in (0.5, 1.0)
    )
    return low is not None and high is not None and (high - low) * term.sign > STEP
