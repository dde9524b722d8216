"""The scale of an item by plain arithmetic, and the `Normalize` steps that a data set is given."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Choice, Constant, Instance, Items, Value

CONVERSIONS = frozenset({
    "float", "to", "astype", "from_numpy", "tensor", "as_tensor", "contiguous", "clone", "unsqueeze",
    "permute", "double", "half", "squeeze", "transpose", "flip", "array", "asarray", "rot90", "roll",
    "fliplr", "flipud", "hflip", "vflip", "crop", "center_crop", "narrow", "ascontiguousarray", "copy", "[]",
    "rotate",
})  # fmt: skip
CHAINS = frozenset({"Compose", "Sequential"})
KNOWN_STEPS = ("torchvision.", "albumentations.", "torch.nn.", "kornia.")
MOST_STEPS = 40
WRAPPERS = frozenset({"Subset", "ConcatDataset", "random_split", "DataLoader"})


def affine(value: Value) -> tuple[float, float, Applied | None] | None:
    """By what an item is multiplied and what is added, and the last step: of `x / 4 - 1`, 0.25 and -1.

    None where that depends on something; no last step where nothing is multiplied or added.
    """
    return _affine(value, MOST_STEPS)


def _affine(value: Value, depth: int) -> tuple[float, float, Applied | None] | None:
    if depth == 0:
        return None
    if isinstance(value, Choice):
        each = [_affine(option, depth - 1) for option in value.options]
        known = [one for one in each if one is not None]
        is_same = len(known) == len(each) and len({one[:2] for one in known}) == 1
        return known[0] if is_same else None
    if not isinstance(value, Applied) or not value.args:
        return 1.0, 0.0, None
    if value.callee in {"+", "-", "*", "/"} and len(value.args) == 2:
        left, right = value.args
        number = _number(right)
        inner = left
        if number is None and value.callee in {"+", "*"}:
            number, inner = _number(left), right
        if number is None:
            return None if any(map(_computes, value.args)) else (1.0, 0.0, None)
        below = _affine(inner, depth - 1)
        if below is None:
            return None
        scale, shift, _ = below
        match value.callee:
            case "+":
                return scale, shift + number, value
            case "-":
                return scale, shift - number, value
            case "*":
                return scale * number, shift * number, value
        return (scale / number, shift / number, value) if number else None
    if value.callee.rpartition(".")[2] in CONVERSIONS:
        return _affine(value.args[0], depth - 1)
    return None if _computes(value.args[0]) else (1.0, 0.0, None)


def _computes(value: Value) -> bool:
    """Whether a value was scaled or shifted before: on the way of the first argument of each call."""
    for _ in range(MOST_STEPS):
        if isinstance(value, Choice) or (isinstance(value, Applied) and value.callee in {"+", "-", "*", "/"}):
            return True
        if not isinstance(value, Applied) or not value.args:
            return False
        value = value.args[0]
    return True


def _number(value: Value) -> float | None:
    known = value.value if isinstance(value, Constant) else None
    return float(known) if isinstance(known, int | float) and not isinstance(known, bool) else None


def chains(run: Execution, dataset: Value) -> Iterator[Applied]:
    """The chains of transforms that a data set, or one that it is a part of, is given."""
    dataset = run.force(dataset)
    given: list[Value] = []
    if isinstance(dataset, Applied):
        if dataset.callee.rpartition(".")[2] in WRAPPERS and dataset.args:
            yield from chains(run, dataset.args[0])
            return
        given = [*dataset.args, *dataset.keywords.values()]
    elif isinstance(dataset, Instance):
        given = list(dataset.made_with.values())
    for value in given:
        value = run.force(value)
        if isinstance(value, Applied) and value.callee.rpartition(".")[2] in CHAINS:
            yield value


def normalised(run: Execution, chain: Applied) -> list[tuple[Applied, tuple[float, ...] | None]] | None:
    """The `Normalize` steps of a chain with their numbers; None where some step is not known."""
    found: list[tuple[Applied, tuple[float, ...] | None]] = []
    for one in ingredients(run, chain):
        if not isinstance(one, Applied) or one is chain:
            continue
        last = one.callee.rpartition(".")[2]
        if last == "Normalize":
            found.append((one, _numbers(run, one)))
        elif last[:1].isupper() and not one.callee.startswith(KNOWN_STEPS):
            return None
    steps = chain.args[0] if chain.args else None
    return found if isinstance(steps, Items) else None


def _numbers(run: Execution, step: Applied) -> tuple[float, ...] | None:
    mean = step.keywords.get("mean", step.args[0] if step.args else None)
    deviation = step.keywords.get("std", step.args[1] if len(step.args) > 1 else None)
    found: list[float] = []
    for value in (mean, deviation):
        value = peeled(_written_out(run.force(value))) if value is not None else None
        for item in value.items if isinstance(value, Items) else [value]:
            known = _number(item) if item is not None else None
            if known is None:
                return None
            found.append(known)
    return tuple(found)


def _written_out(value: Value) -> Value:
    """`[0.5] * 3` as three numbers."""
    match value:
        case Applied(callee="*", args=[Items(items=once), Constant(value=int() as times)]):
            return Items(once * times) if 0 < times <= MOST_STEPS else value
    return value
