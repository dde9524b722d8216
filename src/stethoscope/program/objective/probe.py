"""Trying a comparison on numbers: is it largest or smallest when its two operands agree?

The expression is computed by following it with numpy arrays in the place of its two operands, on pairs
that agree less and less. Nothing of the user's code runs: only the listed tensor operations are computed,
and whatever else the expression needs makes the answer "not known".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.program.index import Index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk import calls
from stethoscope.program.walk.arithmetic import SYMBOLS, combine
from stethoscope.program.walk.computed_tensors import array_attribute
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.given_back import MOVES
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.tensor_operations import CannotCompute, is_known
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Settings,
    Table,
    Value,
    inputs,
)

Array = npt.NDArray[np.float64]
# Prediction and target: equal, near twice, far twice (once to either side), and unrelated twice: once
# with another prediction, once with another target.
Pairs = list[tuple[Array, Array]]

STEPS = 20_000  # for one pair
DRAWS = 3
FAR = 3  # the place among the pairs of one that agrees in half
SMALLEST_GAP = 1e-4  # relative difference that counts as larger
LARGEST_SPREAD = 0.1  # of perfect agreement from draw to draw, against the gap to no agreement
SCALES = 3.0  # factor for the test whether only the angle between the operands matters
SHAPE_WORDS = frozenset({"shape", "ndim", "dtype", "device", "T", "data", "is_cuda"})


@dataclass(frozen=True, slots=True)
class Probe:
    """What the trial showed.

    `orientation` is +1 where agreement gives the largest value, -1 where it gives the smallest, 0 where
    neither. `alike` and `unlike` are the values for equal and for independent operands. `angular` says
    that scaling an operand changes nothing, as for a cosine or a correlation.
    """

    orientation: int
    alike: float
    unlike: float
    angular: bool = False
    is_even: bool = False  # it is as large for what is opposite as for what is equal


def probe(index: Index, value: Value, operands: tuple[Value, Value]) -> Probe | None:
    """Try the value with arrays in place of its two operands; None where it cannot be computed."""
    found: Probe | None = None
    with warnings.catch_warnings():  # empty slices and the like: the result is not a number, which is seen
        warnings.simplefilter("ignore")
        for presentations in PRESENTATIONS:
            if found is not None and presentations is LARGE:
                continue  # it could be computed on small ones
            for presentation in presentations:
                outcome = _try(index, value, operands, presentation)
                if outcome is not None and found is not None and outcome.orientation * found.orientation < 0:
                    return Probe(0, found.alike, found.unlike)  # it depends on what the operands are
                if outcome is not None and (found is None or found.orientation == 0):
                    found = outcome
            if found is not None and found.orientation != 0:
                return found
    return found


def operands_of(index: Index, value: Value, given: frozenset[int] = frozenset()) -> tuple[Value, ...]:
    """The values that an expression is computed from and that cannot be computed themselves.

    Values whose id is `given` count as operands whatever they were made from.
    """
    found: list[Value] = []
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if id(current) in given or is_operand(index, current):
            found.append(current)
        elif isinstance(current, Applied) and current.callee in MOVES:
            waiting.extend(current.args[:1])  # a device is no operand
        elif not isinstance(current, Instance):
            waiting.extend(inputs(current))
    return tuple(found)


MOST_VISITED = 2_000


def is_operand(index: Index, value: Value) -> bool:
    """Whether a value cannot be computed itself: data, a network's output, an unknown call."""
    match value:
        case Leaf():
            return True
        case Part():
            return not _is_computed_part(index, value)
        case Applied(callee=callee, maker=maker):
            if is_network_pass(index, value) or callee == "()":
                return True
            if maker is not None:
                return False
            return not (is_known(callee) or callee in SYMBOLS.values() or callee in {"[]", "slice", "and"})
        case Delayed():
            return is_network_pass(index, value)
    return False


def _is_computed_part(index: Index, value: Part) -> bool:
    """Whether a part is computed from its base, such as its shape, rather than data of its own."""
    base: Value = value
    while isinstance(base, Part):
        if base.key in SHAPE_WORDS:
            return True
        base = base.base
    return not isinstance(base, Leaf | Instance) and not is_operand(index, base)


def _try(
    index: Index, value: Value, operands: tuple[Value, Value], presentation: Callable[[int], Pairs]
) -> Probe | None:
    signs: list[int] = []
    alike: list[float] = []
    unlike: list[float] = []
    angular: list[bool] = []
    even: list[bool] = []
    for seed in range(DRAWS):
        pairs = presentation(seed)
        scores = _scored(index, value, operands, pairs)
        if scores is None:
            return None
        if presentation in OF_CLASSES:
            renamed = score(index, value, operands, _renamed(*pairs[FAR]))
            if renamed is None or abs(renamed - scores[FAR]) > 1e-6 * max(1.0, abs(scores[FAR])):
                return None  # the order of the classes matters, so their scores are no scores of single ones
        signs.append(_sign(scores))
        alike.append(scores[0])
        unlike.append(scores[5])
        if signs[-1] == 0:
            break  # one exception is enough
        prediction, target = pairs[1]
        scaled = score(index, value, operands, (prediction * SCALES, target))
        angular.append(scaled is not None and abs(scaled - scores[1]) <= 1e-6 * max(1.0, abs(scores[1])))
        if signs[-1] > 0:
            equal, other = pairs[0]
            opposite = score(index, value, operands, (-equal, other))
            even.append(opposite is not None and opposite >= scores[0] - 1e-6 * max(1.0, abs(scores[0])))
    agreed = signs[0] if len(set(signs)) == 1 and _is_settled(alike, unlike) else 0
    is_angular, is_even = (bool(said) and all(said) for said in (angular, even))
    return Probe(agreed, float(np.mean(alike)), float(np.mean(unlike)), is_angular, is_even)


def _scored(index: Index, value: Value, operands: tuple[Value, Value], pairs: Pairs) -> list[float] | None:
    scores: list[float] = []
    for pair in pairs:
        one = score(index, value, operands, pair)
        if one is None:
            return None
        scores.append(one)
    return scores


def _is_settled(best: list[float], unlike: list[float]) -> bool:
    """Whether perfect agreement gives the same whatever is compared: a plain product of the two does not."""
    if any(np.isinf(value) for value in best):
        return all(np.isinf(value) for value in best)
    return max(best) - min(best) <= LARGEST_SPREAD * abs(float(np.mean(best)) - float(np.mean(unlike)))


def _sign(scores: list[float]) -> int:
    """+1 where the scores fall as agreement falls, whichever way one departs; -1 where they rise; else 0."""
    best, near, far, unrelated = scores[0], scores[1:3], scores[3:5], scores[5:]
    gap = SMALLEST_GAP * max(1.0, abs(far[0]))
    if best > max(near) and min(near) > max(far) and best - max(far) > gap and best > max(unrelated):
        return 1
    if best < min(near) and max(near) < min(far) and min(far) - best > gap and best < min(unrelated):
        return -1
    return 0


def score(index: Index, value: Value, operands: Sequence[Value], given: Sequence[object]) -> float | None:
    """The number that a value is with this in place of its operands; None where it cannot be computed."""
    numbers = computed(index, value, operands, given)
    mean = float(np.mean(numbers)) if numbers is not None else np.nan
    return None if np.isnan(mean) else mean


def computed(index: Index, value: Value, operands: Sequence[Value], given: Sequence[object]) -> Array | None:
    """The numbers that a value is with this in place of its operands; None where it cannot be computed."""
    run = Execution(index, SettingsTree(), STEPS, eager=True)
    known: dict[int, Value] = {id(o): Constant(array) for o, array in zip(operands, given, strict=True)}
    try:
        result = _settle(run, value, known)
    except (Exhausted, CannotCompute, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return None  # a stranger's shapes and types may fit together in no way at all
    found = result.value if isinstance(result, Constant) else None
    if isinstance(found, bool) or not isinstance(found, int | float | np.ndarray):
        return None
    return None if np.iscomplexobj(found) or np.size(found) == 0 else np.asarray(found)


def _settle(run: Execution, value: Value, known: dict[int, Value]) -> Value:
    """The value with everything computed that can be."""
    if id(value) in known:
        return known[id(value)]
    result = _settled(run, value, known)
    known[id(value)] = result
    return result


def _settled(run: Execution, value: Value, known: dict[int, Value]) -> Value:
    match value:
        case Applied():
            return _settled_application(run, value, known)
        case Delayed(callee=callee, args=args, keywords=keywords):
            given = [_settle(run, arg, known) for arg in args]
            named = {key: _settle(run, arg, known) for key, arg in keywords.items()}
            return calls.call_value(run, _settle(run, callee, known), given, named, value.site)
        case FunctionValue(function=function, bound=bound) if bound is not None:
            return FunctionValue(function, _settle(run, bound, known), value.around)
        case Instance():
            return rebuilt(run, value, known)
        case Items(items=items):
            return Items([_settle(run, item, known) for item in items])
        case Table(entries=entries, rest=rest) if not rest:
            return Table({key: _settle(run, item, known) for key, item in entries.items()})
        case Part(base=base, key=key):
            settled = _settle(run, base, known)
            if isinstance(settled, Leaf):
                raise CannotCompute(str(key))
            return run.item(settled, Constant(key)) if isinstance(key, int) else _attribute(run, settled, key)
        case Choice():
            raise CannotCompute("depends on a condition")
        case Settings(tree=list()):
            return Items(
                [_settle(run, run.item(value, Constant(at)), known) for at in range(len(value.tree))]
            )
        case Outside(name="math.pi" | "numpy.pi" | "torch.pi"):
            return Constant(np.pi)
    return value


def _attribute(run: Execution, base: Value, name: str) -> Value:
    if isinstance(base, Constant) and isinstance(base.value, np.ndarray):
        return array_attribute(base.value, name)
    if isinstance(base, Instance) and name in base.attributes:
        return base.attributes[name]
    raise CannotCompute(name)


def _settled_application(run: Execution, value: Applied, known: dict[int, Value]) -> Value:
    if value.callee in MOVES and value.args:
        return _settle(run, value.args[0], known)
    args = [_settle(run, arg, known) for arg in value.args]
    keywords = {key: _settle(run, arg, known) for key, arg in value.keywords.items()}
    callee = value.callee
    if value.maker is not None:
        maker = _settle(run, value.maker, known)
        return calls.call_value(run, maker, args, keywords, value.site)
    if callee == "[]":
        return run.item(args[0], args[1], value.site)
    if callee == "neg" and isinstance(args[0], Constant):
        return combine("*", Constant(-1), args[0], value.site)
    if callee == "~" and isinstance(args[0], Constant) and isinstance(args[0].value, np.ndarray):
        return Constant(np.logical_not(args[0].value))
    if callee in SYMBOLS.values() and len(args) == 2:
        return combine(callee, args[0], args[1], value.site)
    if callee.startswith("."):
        return calls.call_method(run, args[0], callee[1:], args[1:], keywords, value.site)
    if callee == "slice" or callee in {"()", "and", "[]="}:
        return Applied(callee, tuple(args), keywords, value.site)
    return calls.call_value(run, Outside(callee), args, keywords, value.site)


def rebuilt(run: Execution, instance: Instance, known: dict[int, Value]) -> Value:
    """The object made again with what is known of its arguments; the rest takes its defaults."""
    init = run.index.method(instance.cls, "__init__")
    if init is None:
        return instance
    own = init.parameters[0] if init.parameters else "self"
    given: dict[str, Value] = {}
    for name, argument in instance.made_with.items():
        if name == own or isinstance(argument, Leaf | Part | Choice):
            continue
        try:
            given[name] = _settle(run, argument, known)
        except CannotCompute:
            given[name] = argument  # only what looks at it cannot be computed either
    return run.construct(instance.cls, (), given)


# The kinds of things that losses compare, from perfect agreement to none


def _images(seed: int, shape: tuple[int, ...] = (2, 3, 20, 20)) -> Pairs:
    rng = np.random.default_rng(seed)
    level = 0.2 + 0.1 * seed
    target, other = rng.uniform(level, 0.8, shape), rng.uniform(level, 0.8, shape)
    return _departing(target, other, rng.normal(size=shape), (0.05, 0.2))


def _gray_images(seed: int) -> Pairs:
    return _images(seed, (2, 1, 20, 20))


def _large_images(seed: int) -> Pairs:
    return _images(seed, (1, 3, 192, 192))


def _vectors(seed: int, shape: tuple[int, ...] = (8, 32)) -> Pairs:
    rng = np.random.default_rng(seed)
    target, other = (1 + seed) * rng.normal(size=shape), (1 + seed) * rng.normal(size=shape)
    return _departing(target, other, (1 + seed) * rng.normal(size=shape), (0.3, 1.0))


def _signals(seed: int) -> Pairs:
    return _vectors(seed, (2, 1, 256))


def _volumes(seed: int) -> Pairs:
    return _images(seed, (2, 1, 6, 6, 6))


def _departing(target: Array, other: Array, noise: Array, steps: tuple[float, float]) -> Pairs:
    small, large = steps
    shown = [target + step * noise for step in (0.0, small, -small, large, -large)]
    return [*((prediction, target) for prediction in shown), (other, target), (target, other)]


def _masks(seed: int) -> Pairs:
    return list(_flipped(seed, lambda mask: mask))


def _logits(seed: int) -> Pairs:
    return list(_flipped(seed, lambda mask: 12 * mask - 6))


def _flipped(seed: int, shown: Callable[[Array], Array]) -> Iterator[tuple[Array, Array]]:
    """Masks in which as many points are lost as others are won, so that only the agreement changes."""
    rng = np.random.default_rng(seed)
    shape, share = (2, 1, 20, 20), 0.3 + 0.1 * seed
    target, other = ((rng.uniform(size=shape) < share).astype(np.float64) for _ in range(2))
    ones, zeros = np.flatnonzero(target), np.flatnonzero(target == 0)
    for part in (0.0, 0.15, 0.15, 0.5, 0.5):
        mask = target.copy()
        count = int(part * min(len(ones), len(zeros)))
        mask.flat[rng.permutation(ones)[:count]] = 0
        mask.flat[rng.permutation(zeros)[:count]] = 1
        yield shown(mask), target
    yield shown(other), target
    yield shown(target), other


def _classes(seed: int, extent: tuple[int, ...] = (), count: int = 200) -> Pairs:
    rng = np.random.default_rng(seed)
    labels, other = rng.integers(0, 4, (2, count, *extent))
    pairs: Pairs = []
    for share in (0.0, 0.1, 0.1, 0.4, 0.4):
        shown = np.where(rng.uniform(size=labels.shape) < share, (labels + 1) % 4, labels)
        pairs.append((_scores(shown), labels.astype(np.float64)))
    return [*pairs, (_scores(other), labels.astype(np.float64)), (_scores(labels), other.astype(np.float64))]


def _scores(labels: npt.NDArray[np.int64]) -> Array:
    return np.asarray(np.moveaxis(np.eye(4)[labels], -1, 1) * 8.0)


def _renamed(scores: Array, labels: Array) -> tuple[Array, Array]:
    """The same with other numbers for the classes."""
    names = np.array([2, 0, 3, 1])
    return scores[:, np.argsort(names)], names[labels.astype(np.int64)].astype(np.float64)


def _label_maps(seed: int) -> Pairs:
    return _classes(seed, (16, 16), 2)


LARGE: tuple[Callable[[int], Pairs], ...] = (_large_images,)
OF_CLASSES: tuple[Callable[[int], Pairs], ...] = (_classes, _label_maps)
# Operands of one kind first; scores against labels only where those say nothing.
PRESENTATIONS: tuple[tuple[Callable[[int], Pairs], ...], ...] = (
    (_images, _gray_images, _masks, _volumes),
    (_vectors, _signals),
    LARGE,
    (_logits,),
    OF_CLASSES,
)
