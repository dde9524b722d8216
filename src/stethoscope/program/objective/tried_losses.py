"""Losses that are functions of their own, tried on numbers: what they ask of the prediction they are given.

A call that is handed what learns and what is given is computed with numbers for both. What belongs to such a
loss is then seen from outside, however it is written: whoever is to rank first must be pushed up; who fell
ill first has the highest risk; vectors that lie together by their labels cost less than under other labels;
the answer for a high quantile lies above that for a low one; a prediction for which no answer is known costs
nothing, and one for which an answer is known does.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.probe import Array, operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.objective.tried_policies import learns
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Site,
    Value,
)

DEPTH = 20
MOST_CALLS = 12
STEP = 1e-3
CLEAR = 0.6  # of a correlation between ranks
SAMPLES = 8
MOST_GIVEN = 2
FIRST = frozenset({"pos", "positive", "positives", "good", "chosen", "preferred", "winner", "better"})
LAST = frozenset({"neg", "negative", "negatives", "bad", "rejected", "loser", "worse"})
APART = re.compile(
    r"(?i)dist|margin_d|d_pos|d_neg|cdist|norm|energy|cost|error|loss_pos|advers|unlearn|log_?sum"
)
TIMES = frozenset({"t", "time", "times", "duration", "durations", "tte", "survival", "followup"})
EVENTS = frozenset({"e", "event", "events", "status", "observed", "dead", "death", "delta", "indicator"})
OF_HAZARDS = re.compile(r"(?i)cox|surviv|hazard|censor|partial_like|breslow|efron")
OF_QUANTILES = re.compile(r"(?i)quantile(?!\()|pinball|tilted|check_loss")
OF_MISSING = re.compile(r"isnan|nan_to_num|isfinite|nanmean|nansum")
SHARED_OUT = re.compile(r"softmax|logsumexp")  # where each prediction has a part in all answers
FEW = 4  # predictions that are moved one by one
COUNTS = 0.2  # of what a prediction with an answer costs, at the least


@dataclass(frozen=True, slots=True, eq=False)
class TriedLoss:
    """A loss that asks for the wrong thing; `kind` is "pair", "hazard", "quantile", "missing", "known" or
    "strangers"."""

    site: Site
    sink: Site
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A call of a loss, the sign it has in what is minimised, and what it is handed."""

    made: Applied | Delayed
    sign: int
    function: Function
    learning: tuple[tuple[str, Value], ...]
    given: tuple[tuple[str, Value], ...]


@remembered
def tried_losses(index: Index, settings: SettingsTree) -> tuple[TriedLoss, ...]:
    """The losses of a program that ask for the contrary of what is meant."""
    if any("maximize=True" in source.text for source in index.program):
        return ()
    found: dict[int, TriedLoss] = {}
    for one in minimised(index, settings):
        if is_test(one.sink.site.source):
            continue
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for call in list(_calls(one))[:MOST_CALLS]:
                    if kind := _judged(one.run, call):
                        tried = TriedLoss(call.made.site, one.sink.site, kind)
                        found.setdefault(id(call.made.site.node), tried)
                        break  # what it is made of says the same again
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _judged(run: Execution, call: _Call) -> str:
    text = ast.unparse(call.function.node)
    said = f"{call.function.spoken} {text}"
    if len(call.learning) == 2 and not APART.search(said + call.made.site.text):
        return "pair" if _is_pair_turned(run, call) else ""
    if len(call.learning) != 1:
        return ""
    if OF_HAZARDS.search(said) and len(call.given) == 2:
        return "hazard" if _is_hazard_turned(run, call) else ""
    if OF_QUANTILES.search(said) and len(call.given) == 1:
        return "quantile" if _are_quantiles_turned(run, call) else ""
    if OF_MISSING.search(text) and not SHARED_OUT.search(text) and call.given:
        return _of_missing(run, call)
    if len(call.given) == 1 and _compares_with_itself(call.function):
        return "strangers" if _are_strangers_drawn_together(run, call) else ""
    return ""


# Calls


def _calls(one: Minimised) -> Iterator[_Call]:
    known: dict[int, bool] = {}
    waiting: list[tuple[Value, int, int]] = [(one.sink.value, 1, DEPTH)]
    while waiting:
        value, sign, depth = waiting.pop()
        if depth == 0:
            continue
        match value:
            case Delayed() if not is_model_call(one.run.index, value):
                call = _call(one.run, value, sign, known)
                if call is not None:
                    yield call
                inner = one.run.expand(value)
                waiting.extend([(inner, sign, depth - 1)] if inner is not value else [])
            case Applied(callee="-", args=[left, right]):
                waiting.extend([(left, sign, depth - 1), (right, -sign, depth - 1)])
            case Applied(callee="neg", args=[inner]):
                waiting.append((inner, -sign, depth - 1))
            case Applied(callee="+" | "*" | "/", args=[left, right]):
                yield from _written_out(one.run, value, sign, known)
                numbers = [part.value for part in (left, right) if isinstance(part, Constant)]
                is_turned = any(isinstance(number, int | float) and number < 0 for number in numbers)
                turned = -sign if is_turned and value.callee != "+" else sign
                waiting.extend([(left, turned, depth - 1), (right, turned, depth - 1)])
            case Applied(callee=".mean" | ".sum" | "sum" | "torch.mean" | "torch.sum", args=[inner, *_]):
                yield from _written_out(one.run, value, sign, known)
                waiting.append((inner, sign, depth - 1))
            case Choice(options=inner) | Items(items=inner):
                waiting.extend((part, sign, depth - 1) for part in inner)


def _call(run: Execution, value: Delayed, sign: int, known: dict[int, bool]) -> _Call | None:
    """A call of a function of the program that is handed what learns."""
    callee = value.callee
    if not isinstance(callee, FunctionValue):
        return None
    names = list(callee.function.parameters)[callee.bound is not None :]
    handed = [*zip(names, value.args, strict=False), *value.keywords.items()]
    arrays = [(name, one) for name, one in handed if not isinstance(one, Constant | Instance)]
    learning = tuple((name, one) for name, one in arrays if learns(run, one, known))
    given = tuple((name, one) for name, one in arrays if not learns(run, one, known))
    return _Call(value, sign, callee.function, learning, given) if learning else None


def _written_out(run: Execution, value: Applied, sign: int, known: dict[int, bool]) -> Iterator[_Call]:
    """The same of a loss whose call nothing is known of any more: what it is computed from."""
    operands = operands_of(run.index, value)
    learning = tuple(("", one) for one in operands if learns(run, one, known))
    given = tuple(("", one) for one in operands if not learns(run, one, known))
    line, file = getattr(value.site.node, "lineno", 0), value.site.source.file
    around = [
        function
        for function in run.index.functions
        if function.source.file == file and function.node.lineno <= line <= (function.node.end_lineno or 0)
    ]
    if len(learning) == 1 and 0 < len(given) <= MOST_GIVEN and around:
        yield _Call(value, sign, max(around, key=lambda one: one.node.lineno), learning, given)


def _score(run: Execution, call: _Call, learning: Sequence[Array], given: Sequence[Array]) -> float | None:
    operands = [value for _, value in (*call.learning, *call.given)]
    found = score(run.index, call.made, operands, [*learning, *given])
    return found * call.sign if found is not None else None


# Who is to be first


def _is_pair_turned(run: Execution, call: _Call) -> bool:
    """Whether the loss rises with what should be first and falls with what should be last."""
    sides = [set(words(name)) for name, _ in call.learning]
    first = [place for place, side in enumerate(sides) if side & FIRST and not side & LAST]
    last = [place for place, side in enumerate(sides) if side & LAST and not side & FIRST]
    if len(first) != 1 or len(last) != 1 or call.given:
        return False
    for shapes in (((6,), (6,)), ((6,), (6, 3)), ((6, 1), (6, 3)), ((6, 5), (6, 5))):
        base = [np.full(shape, 0.1) for shape in shapes]
        moved = [[one + 0.5 * (at == place) for at, one in enumerate(base)] for place in (first[0], last[0])]
        scores = [_score(run, call, learning, ()) for learning in (base, *moved)]
        known = [one for one in scores if one is not None and np.isfinite(one)]
        if len(known) == len(scores):
            return known[1] > known[0] + STEP and known[2] < known[0] - STEP
    return False


def _is_hazard_turned(run: Execution, call: _Call) -> bool:
    """Whether the loss lowers the risk of who fell ill first, and raises that of who did last."""
    times = np.random.default_rng(1).permutation(SAMPLES).astype(np.float64)
    found = set()
    names = [set(words(name)) for name, _ in call.given]
    told = [place for place in range(2) if names[place] & TIMES or names[1 - place] & EVENTS]
    for place in told if len(told) == 1 else range(2):
        given = [times + 1 if place == at else np.ones(SAMPLES) for at in range(2)]
        slopes = _slopes(run, call, given)
        if slopes is not None and float(np.std(slopes)) > STEP:
            together = float(np.corrcoef(np.argsort(np.argsort(slopes)), times)[0, 1])
            found.add(int(np.sign(together)) if abs(together) > CLEAR else 0)
    return found - {0} == {-1}


def _slopes(run: Execution, call: _Call, given: Sequence[Array]) -> Array | None:
    base = _score(run, call, [np.zeros(SAMPLES)], given)
    moved = [_score(run, call, [STEP * row], given) for row in np.eye(SAMPLES)]
    if base is None or any(one is None for one in moved):
        return None
    return np.asarray([(one - base) / STEP for one in moved if one is not None])


# Quantiles


def _are_quantiles_turned(run: Execution, call: _Call) -> bool:
    """Whether the cheapest answers fall from one quantile to the next, or nothing ends their fall."""
    targets = np.linspace(0.0, 1.0, 21)
    for count in (3, 2, 5, 7, 9, 4, 1):
        for more in ((), (1,)):
            target = targets.reshape(-1, *more)
            best = [_cheapest(run, call, target, (*target.shape, count), place) for place in range(count)]
            known = [one for one in best if one is not None]
            if len(known) == count:
                falls = count > 1 and bool(np.all(np.diff(known) < 0)) and not _are_told_from_the_highest(run)
                return falls or all(abs(one) > 1 for one in known)
    return False


def _are_told_from_the_highest(run: Execution) -> bool:
    """Whether a program writes quantiles down in falling order, `(0.9, 0.5, 0.1)`."""
    for source in run.index.program:
        for node in all_nodes(source.tree):
            if not isinstance(node, ast.Tuple | ast.List):
                continue
            constants = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            levels = [one for one in constants if isinstance(one, float) and 0 < one < 1]
            if len(levels) == len(node.elts) > 1 and all(np.diff(levels) < 0):
                return True
    return False


def _cheapest(run: Execution, call: _Call, target: Array, shape: tuple[int, ...], place: int) -> float | None:
    """The answer for one of the quantiles that costs least, the others left in the middle."""
    levels = (-9.0, *np.linspace(0.025, 0.975, 20), 9.0)
    costs = []
    for level in levels:
        predicted = np.full(shape, 0.5)
        predicted[..., place] = level
        cost = _score(run, call, [predicted], [target])
        if cost is None or not np.isfinite(cost):
            return None
        costs.append(cost)
    return float(levels[int(np.argmin(costs))]) if max(costs) > min(costs) else None


# Who belongs together


def _compares_with_itself(function: Function) -> bool:
    """`labels[:, None] == labels[None]`, `labels.eq(labels.t())`: who belongs together is asked."""
    for node in all_nodes(function.node):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                pair = (left, right)
            case ast.Call(func=ast.Attribute(attr="eq" | "ne"), args=[left, right]):
                pair = (left, right)
            case ast.Call(func=ast.Attribute(value=left, attr="eq" | "ne"), args=[right]):
                pair = (left, right)
            case _:
                continue
        names = [{one.id for one in all_nodes(side, ast.Name)} for side in pair]
        if names[0] & names[1] & set(function.parameters):
            return True
    return False


def _are_strangers_drawn_together(run: Execution, call: _Call) -> bool:
    """Whether vectors that lie together by their labels cost more than the same under mixed labels."""
    rng = np.random.default_rng(4)
    together = np.repeat(np.arange(4.0), 3)
    mixed = np.tile(np.arange(4.0), 3)
    for _ in range(3):
        vectors = np.eye(4, 8)[together.astype(int)] + 0.05 * rng.normal(size=(12, 8))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        costs = [_score(run, call, [vectors], [labels]) for labels in (together, mixed)]
        known = [one for one in costs if one is not None and np.isfinite(one)]
        if len(known) < len(costs) or known[0] <= known[1] + STEP:
            return False
    return True


# Missing answers


def _of_missing(run: Execution, call: _Call) -> str:
    """What costs: "missing" where a prediction without an answer does, "known" where none with one does."""
    rng = np.random.default_rng(2)
    for shape in ((6, 4), (6,), (6, 1)):
        answers = rng.integers(0, 2, shape).astype(np.float64)
        answers.flat[[0, 3]] = np.nan
        is_missing = np.isnan(answers)
        predicted = rng.normal(size=shape)
        rest = [np.ones(1) for _ in call.given[1:]]
        of_missing = _moved(run, call, predicted, [answers, *rest], np.flatnonzero(is_missing).tolist())
        of_known = _moved(run, call, predicted, [answers, *rest], np.flatnonzero(~is_missing)[:FEW].tolist())
        whole = np.where(is_missing, 1.0, answers)
        of_whole = _moved(run, call, predicted, [whole, *rest], np.flatnonzero(~is_missing)[:FEW].tolist())
        if of_missing is None or of_known is None or of_whole is None:
            continue
        if of_missing > max(COUNTS * of_known, 1e-9):
            return "missing"
        # What moves as soon as nothing is missing only guards against numbers that are none.
        return "known" if max(of_known, of_whole) <= 1e-9 else ""
    return ""


def _moved(
    run: Execution, call: _Call, predicted: Array, given: Sequence[Array], places: Iterable[int]
) -> float | None:
    """How much a loss changes in the middle where single predictions do; None where it cannot be computed."""
    changes = []
    before = _score(run, call, [predicted], given)
    for place in places:
        step = np.zeros(predicted.size)
        step[place] = 0.7
        beside = (predicted + sign * step.reshape(predicted.shape) for sign in (1, -1))
        scores = [before, *(_score(run, call, [one], given) for one in beside)]
        known = [one for one in scores if one is not None and np.isfinite(one)]
        if len(known) < len(scores):
            return None
        changes.append(max(abs(one - known[0]) for one in known[1:]))
    return float(np.mean(changes))
