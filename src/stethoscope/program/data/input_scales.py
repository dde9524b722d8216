"""What is done to the numbers of the data on their way into a network, in training and in evaluation.

A way is followed from the network back to the file, the array or the data set that is read, and computed as
if all that is read were one number: views, crops and casts leave it what it is, arithmetic changes it. Two
numbers tell the scale and the shift. Where the result depends on anything else that is not known, nothing
is said of that way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.batches import drawn, is_loader
from stethoscope.program.data.ingredients import part_path
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.evaluation.transformed_ranges import range_after, transform_of
from stethoscope.program.loop.moves import Kind
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Instance,
    Items,
    Leaf,
    Part,
    Site,
    Value,
)

Array = npt.NDArray[np.float64]

# What is read, twice, under two guesses for everything that is not known.
READ = np.array([100.0, 37.0, 100.0, 37.0])[:, None]
GUESSES = 2
DEPTH = 60
MOST_VALUES = 500
MOST_OUTCOMES = 8
TOLERANCE = 1e-6
# fmt: off
READING = frozenset({
    "load", "imread", "open", "read_image", "loadtxt", "read_csv", "genfromtxt", "fromfile", "memmap",
    "read_parquet", "File", "loadmat", "decode_image", "load_dataset", "from_buffer", "frombuffer",
})
# Views, crops, moves and casts, and what makes of equal numbers the same number.
LEAVING = frozenset({
    "[]", "float", "double", "half", "to", "cpu", "cuda", "detach", "numpy", "squeeze", "unsqueeze",
    "permute",
    "contiguous", "astype", "clone", "transpose", "reshape", "view", "flatten", "type", "asarray", "array",
    "from_numpy", "as_tensor", "tensor", "copy", "flip", "fliplr", "flipud", "rot90", "roll", "narrow", "t",
    "expand", "repeat", "index_select", "split", "chunk", "unbind", "pin_memory", "type_as", "interpolate",
    "avg_pool2d", "max_pool2d", "adaptive_avg_pool2d", "resize", "crop", "center_crop", "hflip", "vflip",
    "ascontiguousarray", "stack", "cat", "concat", "concatenate", "tile", "movedim", "swapaxes", "item",
    "bfloat16", "requires_grad_", "channels_last", "pad", "convert", "unfold", "list", "tuple", "next",
    "iter", "enumerate", "tqdm", "FloatTensor", "Tensor", "reversed", "chain", "values", "take", "gather",
    "double_", "float32", "rearrange", "to_tensor_", "expand_dims", "ravel", "fromarray", "moveaxis",
})
# fmt: on
ELEMENTWISE: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "square": np.square,
    "abs": np.abs,
    "neg": np.negative,
}
ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
}
METHODS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mul_": "*", "div_": "/", "sub_": "-", "add_": "+"}
_SPLIT_WORDS = re.compile(r"train(?:ing)?|valid(?:ation)?|val|test|eval|dev|held_?(?:out|back)|tr|te", re.I)


@dataclass(frozen=True, slots=True, eq=False)
class FedApart:
    """An evaluation that feeds its network in another range than training does.

    `trained` and `judged` are the numbers that 100 and 37 become on the two ways; `step` is arithmetic that
    one way has and the other has not, where there is such.
    """

    training: Site
    evaluation: Site
    trained: tuple[float, float]
    judged: tuple[float, float]
    step: Site | None


@dataclass(slots=True)
class _Way:
    """Follows one value back to what is read."""

    run: Execution
    origins: set[tuple[str, ...]] = field(default_factory=set)
    steps: list[Site] = field(default_factory=list)
    guessed: dict[str, Array] = field(default_factory=dict)
    left: int = MOST_VALUES

    def outcomes(self, value: Value) -> list[tuple[float, float]]:
        """What 100 and 37 may become; none where that is not known."""
        found: list[tuple[float, float]] = []
        for one in self._of(value, DEPTH) or ():
            rows = np.broadcast_to(one, np.broadcast_shapes(one.shape, (4, 1)))
            first, second = rows[:GUESSES], rows[GUESSES:]
            if not np.all(np.isfinite(rows)):
                continue  # a branch that divides by a setting of zero is not taken
            if not np.allclose(first, second):
                return []
            found.append((float(first[0].mean()), float(first[1].mean())))
        return found

    def _of(self, value: Value, depth: int) -> list[Array] | None:
        self.left -= 1
        if depth == 0 or self.left < 0:
            return None
        value = quietly(self.run, value)
        match value:
            case Constant(value=bool() | None | str()):
                return None
            case Constant(value=int() | float() as number):
                return [np.asarray([[float(number)]])]
            case Items(items=items):
                return self._of_row(items, depth)
            case Choice(options=options):
                return self._any_of(options, depth)
            case Leaf(name=name):
                return [self._guess(name)]
            case Part():
                return self._of_part(value, depth)
            case Applied() if not is_network_pass(self.run.index, value):
                return self._of_operation(value, depth)
        return None

    def _guess(self, name: str) -> Array:
        """Numbers for what is not known: others in the second guess than in the first."""
        if name not in self.guessed:
            count = len(self.guessed)
            self.guessed[name] = np.repeat([0.37 + 0.11 * count, 0.83 + 0.07 * count], GUESSES)[:, None]
        return self.guessed[name]

    def _any_of(self, options: Sequence[Value], depth: int) -> list[Array] | None:
        found: list[Array] = []
        for option in options:
            inner = self._of(option, depth - 1)
            if inner is None:
                return None
            found.extend(one for one in inner if not any(_is_same(one, other) for other in found))
        return found[:MOST_OUTCOMES] or None

    def _of_row(self, items: Sequence[Value], depth: int) -> list[Array] | None:
        numbers = [one.value for one in items if isinstance(one, Constant)]
        if items and len(numbers) == len(items):
            known = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
            return [np.asarray([known])] if len(known) == len(numbers) else None
        return self._any_of(items[:2], depth)

    def _of_part(self, value: Part, depth: int) -> list[Array] | None:
        base, keys = part_path(value)
        if is_loader(base) and keys[:1] == ("*",):
            transform = transform_of(self.run, base, keys[1:])
            if transform is not None and (ends := range_after(transform)) is not None:
                self.origins.add((f"pictures between {ends[0]:.3g} and {ends[1]:.3g}",))
                return [READ]
            made = list(drawn(self.run, value))
            return self._any_of(made, depth) if made else None
        if isinstance(base, Applied) and base.callee in {"zip", "enumerate"} and keys[:1] == ("*",):
            place = keys[1] if len(keys) > 1 else None
            place = 0 if base.callee == "enumerate" and place == 1 else place
            if isinstance(place, int) and place < len(base.args):
                return self._of(base.args[place], depth - 1)
        if _reads(base):
            named = tuple(str(key) for key in keys if isinstance(key, str) and key != "*")
            return self._read(base, named)
        if isinstance(value.key, int) or value.key == "*":
            return self._of(value.base, depth - 1)
        return [self._guess(str(value.key))] if isinstance(value.base, Instance | Leaf | Part) else None

    def _read(self, reader: Value, named: tuple[str, ...]) -> list[Array]:
        text = reader.site.text if isinstance(reader, Applied) else ""
        self.origins.add((_SPLIT_WORDS.sub("#", " ".join(text.split())), *named))
        return [READ]

    def _of_operation(self, value: Applied, depth: int) -> list[Array] | None:
        last = value.callee.removesuffix("()").rpartition(".")[2] or value.callee
        if _reads(value):
            return self._read(value, ())
        operation = METHODS.get(last, value.callee)
        if operation in ARITHMETIC and len(value.args) == 2:
            return self._arithmetic(value, operation, depth)
        if last in {"randn", "randn_like", "standard_normal"}:
            return [np.zeros((1, 1))]
        if not value.args:
            return None
        if last in ELEMENTWISE:
            inner = self._of(value.args[0], depth - 1)
            with np.errstate(all="ignore"):
                return [ELEMENTWISE[last](one) for one in inner] if inner is not None else None
        if last in {"clamp", "clip", "clamp_"}:  # where a number is cut off says nothing of its scale
            return self._of(value.args[0], depth - 1)
        if last == "where" and len(value.args) == 3:
            return self._any_of(value.args[1:], depth)
        return self._of(value.args[0], depth - 1) if last in LEAVING else None

    def _arithmetic(self, value: Applied, operation: str, depth: int) -> list[Array] | None:
        sides = [self._of(arg, depth - 1) for arg in value.args]
        left, right = sides
        if left is None or right is None:
            return None
        self.steps.append(value.site)
        found = []
        with np.errstate(all="ignore"):
            for one, other in list(product(left, right))[:MOST_OUTCOMES]:
                try:
                    found.append(ARITHMETIC[operation](one, other))
                except ValueError:  # rows of numbers that do not fit each other
                    return None
        return found


def _is_same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, equal_nan=True))


def _reads(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in READING


# Comparing


def fed_apart(walk: Walk) -> Iterator[FedApart]:
    """The evaluations of a walk that feed their networks in another range than training does."""
    trained = [
        move.event
        for move in walk.moves
        if move.kind is Kind.FORWARD and id(move.event) in walk.trained and isinstance(move.event, Call)
    ]
    if not trained:
        return
    walk.trace.run.steps = max(walk.trace.run.steps, STEPS // 4)
    known: dict[int, list[_Followed]] = {}
    seen: set[int] = set()
    for evaluation in walk.evaluations:
        call = evaluation.forward.event
        if not isinstance(call, Call) or id(call.site.node) in seen:
            continue
        seen.add(id(call.site.node))
        try:
            yield from _apart(walk.trace.run, call, trained, known)
        except (Exhausted, RecursionError):
            continue


def fed_apart_in_steps(run: Execution, trained: Sequence[Call], judged: Sequence[Call]) -> Iterator[FedApart]:
    """The same of the steps that a framework calls: their runs of networks, on batches of their loaders."""
    run.steps = max(run.steps, STEPS // 4)
    known: dict[int, list[_Followed]] = {}
    for call in judged:
        try:
            yield from _apart(run, call, trained, known)
        except (Exhausted, RecursionError):
            continue


@dataclass(frozen=True, slots=True, eq=False)
class _Followed:
    name: int | str
    outcomes: list[tuple[float, float]]
    origins: frozenset[tuple[str, ...]]
    steps: tuple[Site, ...]


def _followed(run: Execution, call: Call) -> list[_Followed]:
    found = []
    given: list[tuple[int | str, Value]] = [*enumerate(call.args), *call.keywords.items()]
    for name, value in given:
        way = _Way(run)
        outcomes = way.outcomes(value)
        if outcomes and way.origins:
            found.append(_Followed(name, outcomes, frozenset(way.origins), tuple(way.steps)))
    return found


def _apart(
    run: Execution, call: Call, trained: Sequence[Call], known: dict[int, list[_Followed]]
) -> Iterator[FedApart]:
    for judged in _followed(run, call):
        comparable: list[tuple[Call, _Followed]] = []
        for other in trained:
            if id(other) not in known:
                known[id(other)] = _followed(run, other)
            comparable += (
                (other, one)
                for one in known[id(other)]
                if one.name == judged.name and judged.origins <= one.origins
            )
        if comparable and not any(_meet(one, judged) for _, one in comparable):
            other, one = comparable[0]
            step = _only_there(judged, one) or _only_there(one, judged)
            yield FedApart(other.site, call.site, one.outcomes[0], judged.outcomes[0], step)
            return


def _meet(one: _Followed, other: _Followed) -> bool:
    return any(
        np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE) for a in one.outcomes for b in other.outcomes
    )


def _only_there(one: _Followed, other: _Followed) -> Site | None:
    others = {id(site.node) for site in other.steps}
    return next((site for site in one.steps if id(site.node) not in others), None)


def scale_and_shift(outcome: tuple[float, float]) -> tuple[float, float]:
    """What was done to a number, as far as it is a factor and a sum."""
    scale = (outcome[0] - outcome[1]) / float(READ[0, 0] - READ[1, 0])
    return scale, outcome[0] - scale * float(READ[0, 0])
