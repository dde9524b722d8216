"""From a value back to the data: the parts of batches it uses, and what a data set puts there."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.calls import call_value
from stethoscope.program.execution import Execution
from stethoscope.program.ingredients import ingredients, part_path
from stethoscope.program.training_data import POSITIONAL
from stethoscope.program.values import (
    Applied,
    Choice,
    Constant,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Part,
    PartialValue,
    Site,
    Table,
    Value,
    choice,
)


def batch_parts(run: Execution, value: Value) -> Iterator[Part]:
    """The parts of a loader's batches that a value is computed from, networks not entered."""
    inner: set[int] = set()  # a part of a part is one part
    for one in ingredients(run, value):
        if isinstance(one, Part):
            inner.add(id(one.base))
            base, keys = part_path(one)
            if _is_loader(base) and keys[:1] == ("*",) and id(one) not in inner:
                yield one


def _is_loader(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] == "DataLoader"


def drawn(run: Execution, part: Value) -> Iterator[Value]:
    """What the data set or the collate function puts at this part of a batch, where that can be followed."""
    loader, keys = part_path(part)
    assert isinstance(loader, Applied)
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    batch = _batch(run, options)
    for key in keys[1:]:
        batch = _entry(batch, key)
        if batch is None:
            return
    if batch is not None:
        yield batch


def _batch(run: Execution, options: dict[str, Value]) -> Value | None:
    collate = options.get("collate_fn")
    if isinstance(collate, FunctionValue | LambdaValue | PartialValue | Instance):
        site = Site(next(iter(run.index.modules.values())).source, run.index.program.sources[0].tree)
        return run.force(call_value(run, collate, [Leaf("samples")], {}, site))
    if collate is not None and not isinstance(collate, Constant):
        return None
    dataset = options.get("dataset")
    if not isinstance(dataset, Instance):
        return None
    method = run.index.method(dataset.cls, "__getitem__")
    return run.follow(FunctionValue(method, dataset), (Leaf("index"),), {}) if method else None


def _entry(batch: Value | None, key: str | int) -> Value | None:
    match batch:
        case Items(items=items) if isinstance(key, int) and -len(items) <= key < len(items):
            return items[key]
        case Table(entries=entries) if key in entries:
            return entries[key]
        case Choice(options=options):
            found = [entry for option in options if (entry := _entry(option, key)) is not None]
            return choice(*found) if found else None
    return None
