"""From a value back to the data: the parts of batches it uses, and what a data set puts there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from stethoscope.program.data.ingredients import ingredients, part_path
from stethoscope.program.data.training_data import POSITIONAL
from stethoscope.program.walk.calls import call_value
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
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

DEPTH = 8  # data sets inside data sets


def batch_parts(run: Execution, value: Value) -> Iterator[Part]:
    """The parts of a loader's batches that a value is computed from, networks not entered."""
    yield from parts_among(ingredients(run, value))


def parts_among(values: Iterator[Value]) -> Iterator[Part]:
    """The parts of a loader's batches among values that come in the order of their making, last first."""
    inner: set[int] = set()  # a part of a part is one part
    for one in values:
        if isinstance(one, Part):
            inner.add(id(one.base))
            base, keys = part_path(one)
            if is_loader(base) and keys[:1] == ("*",) and id(one) not in inner:
                yield one


def is_loader(value: Value) -> bool:
    """Whether a value is a DataLoader."""
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] == "DataLoader"


def drawn(run: Execution, part: Value) -> Iterator[Value]:
    """What the data set or the collate function puts at this part of a batch, where that can be followed."""
    loader, keys = part_path(part)
    assert isinstance(loader, Applied)
    yield from drawn_from(run, loader, keys[1:])


def drawn_from(run: Execution, loader: Applied, keys: Sequence[str | int]) -> Iterator[Value]:
    """What is found under these keys in the batches of a loader."""
    for batch in batches(run, loader):
        found: Value | None = batch
        for key in keys:
            found = entry(found, key)
        if found is not None:
            yield found


@lru_cache(maxsize=32)
def batches(run: Execution, loader: Applied) -> tuple[Value, ...]:
    """What the batches of a loader hold: one value for each data set behind it that could be followed."""
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    collate = run.force(options["collate_fn"]) if "collate_fn" in options else None
    if isinstance(collate, FunctionValue | LambdaValue | PartialValue | Instance):
        return (collated(run, collate),)
    if collate is not None and not isinstance(collate, Constant):
        return ()
    return items(run, loader)


def items(run: Execution, loader: Applied) -> tuple[Value, ...]:
    """What the data sets behind a loader give, before they are collated."""
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    dataset = options.get("dataset")
    if dataset is None:
        return ()
    return tuple(item for one in datasets(run, dataset) if (item := item_of(run, one)) is not None)


def collated_items(run: Execution, loader: Applied) -> Iterator[Value]:
    """What the collate function of a loader makes of what its data sets give, or their items without one."""
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    collate = run.force(options["collate_fn"]) if "collate_fn" in options else None
    for item in items(run, loader):
        if isinstance(collate, FunctionValue | LambdaValue | PartialValue | Instance):
            yield run.force(call_value(run, collate, [Items([item])], {}, loader.site))
        else:
            yield item


def collated(run: Execution, collate: Value) -> Value:
    """What a collate function makes of unknown samples."""
    site = Site(next(iter(run.index.modules.values())).source, run.index.program.sources[0].tree)
    return run.force(call_value(run, collate, [Leaf("samples")], {}, site))


def datasets(run: Execution, value: Value, depth: int = DEPTH) -> Iterator[Value]:
    """The data sets behind joins, splits and choices: objects of the repository, or lists of tensors."""
    value = run.force(value)
    if depth == 0:
        return
    match value:
        case Instance():
            yield value
        case Choice(options=options) | Items(items=options):
            for option in options:
                yield from datasets(run, option, depth - 1)
        case Part(base=Applied(callee=callee, args=[whole, *_]), key=int()) if callee.endswith(
            "random_split"
        ):
            yield from datasets(run, whole, depth - 1)
        case Applied(callee="+", args=args):
            for arg in args:
                yield from datasets(run, arg, depth - 1)
        case Applied(callee=callee, args=[first, *_]) if callee.rpartition(".")[2] in {
            "ConcatDataset",
            "ChainDataset",
            "StackDataset",
            "Subset",
            "random_split",
        }:
            yield from datasets(run, first, depth - 1)
        case Applied(callee=callee) if callee.rpartition(".")[2] == "TensorDataset":
            yield value


def item_of(run: Execution, dataset: Value) -> Value | None:
    """What one item of a data set holds; of a list of tensors, the tensors."""
    if isinstance(dataset, Applied):
        return Items(list(dataset.args))
    if not isinstance(dataset, Instance):
        return None
    method = run.index.method(dataset.cls, "__getitem__")
    if method is not None:
        return run.force(run.follow(FunctionValue(method, dataset), (Leaf("index"),), {}))
    stream = run.index.method(dataset.cls, "__iter__")
    given = run.force(run.follow(FunctionValue(stream, dataset), (), {})) if stream is not None else None
    return choice(*given.items) if isinstance(given, Items) and given.items else None


def entry(batch: Value | None, key: str | int) -> Value | None:
    """One entry of a batch, where its keys are known."""
    match batch:
        case Items(items=items) if isinstance(key, int) and -len(items) <= key < len(items):
            return items[key]
        case Table(entries=entries) if key in entries:
            return entries[key]
        case Applied(callee="[]=", args=[base, Constant(value=at), value]):  # `encoded["labels"] = ...`
            return value if at == key else entry(base, key)
        case Choice(options=options):
            found = [one for option in options if (one := entry(option, key)) is not None]
            return choice(*found) if found else None
    return None
