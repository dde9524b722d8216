"""The range of pictures that a data set of torchvision gives, by the transforms that it is made with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.training_data import POSITIONAL
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Choice, Constant, Items, Part, Value

# What makes numbers between 0 and 1 of the bytes of a picture.
SCALING = frozenset({"ToTensor", "ConvertImageDtype"})


def transform_of(run: Execution, loader: Value, keys: Sequence[str | int]) -> Applied | None:
    """The transforms of the data set behind a loader, where its picture is asked for."""
    if not isinstance(loader, Applied) or not is_loader(loader) or tuple(keys) != (0,):
        return None
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    dataset = _whole(run, run.force(options["dataset"])) if "dataset" in options else None
    if not isinstance(dataset, Applied) or ".datasets." not in dataset.callee:
        return None
    given = [run.force(value) for value in (*dataset.args, *dataset.keywords.values())]
    return next((one for one in given if isinstance(one, Applied) and one.callee.endswith("Compose")), None)


def _whole(run: Execution, dataset: Value) -> Value:
    """What a part was split off: `random_split(full, [9, 1])`, `Subset(full, rows)`."""
    if isinstance(dataset, Part) and isinstance(dataset.key, int):
        dataset = run.force(dataset.base)
    is_part = isinstance(dataset, Applied) and dataset.callee.rpartition(".")[2] in {"random_split", "Subset"}
    return (
        run.force(dataset.args[0]) if isinstance(dataset, Applied) and is_part and dataset.args else dataset
    )


def range_after(compose: Applied) -> tuple[float, float] | None:
    """The range that a chain of transforms leaves."""
    found: tuple[float, float] | None = None
    for step in _steps(compose):
        last = step.callee.rpartition(".")[2]
        if last in SCALING or (last == "ToDtype" and _is_true(step.keywords.get("scale"))):
            found = (0.0, 1.0)
        elif last == "Normalize":
            found = _normalised(found, step)
        elif last == "Lambda":
            return None
    return found


def _steps(compose: Applied) -> Iterator[Applied]:
    listed = compose.args[0] if compose.args else compose.keywords.get("transforms")
    for item in listed.items if isinstance(listed, Items) else ():
        for one in item.options if isinstance(item, Choice) else (item,):
            if isinstance(one, Applied):
                yield one


def _normalised(before: tuple[float, float] | None, step: Applied) -> tuple[float, float] | None:
    given = {**dict(zip(("mean", "std"), step.args, strict=False)), **step.keywords}
    mean, std = _numbers(given.get("mean")), _numbers(given.get("std"))
    if before is None or not mean or not std or 0 in std:
        return None
    ends = [(end - m) / s for m, s in zip(mean, std, strict=False) for end in before]
    return min(ends), max(ends)


def _numbers(value: Value | None) -> list[float]:
    """The numbers of `0.5`, `[0.5]`, `(0.5, 0.5, 0.5)` and `[0.5] * 3`."""
    match value:
        case Constant(value=int() | float() as number):
            return [float(number)]
        case Constant(value=list() | tuple() as numbers):
            return [float(number) for number in numbers if isinstance(number, int | float)]
        case Items(items=items):
            found = [number for item in items for number in _numbers(item)]
            return found if len(found) == len(items) else []
        case Applied(callee="*", args=[Items() as listed, Constant()]):
            return _numbers(listed)
    return []


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.value is True
