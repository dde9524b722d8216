"""Whether the stored order of data is kept: by its data set, its loader and its sampler."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Value,
    inputs,
)

SHUFFLING = frozenset({"shuffle", "randperm", "permutation", "sample", "shuffled"})
SHUFFLE_PLACE = 3  # among the arguments of a distributed sampler
TABLE_STEPS = frozenset({
    ".map", ".with_format", ".remove_columns", ".rename_column", ".rename_columns", ".filter", ".cast_column",
    ".set_transform", ".with_transform", ".select_columns",
})  # fmt: skip
MADE_UP = frozenset({"random", "dummy", "fake", "boring"})  # data that stands for none
CHOOSING = frozenset({"choice", "choices", "train_test_split", "argsort", "multinomial", "random_split"})
# What speaks of data that is read as it comes, in whatever order.
OF_STREAMS = ("IterableDataset", "IterDataPipe", "webdataset", "streaming", "StreamingDataset", "tf.data")
MOST_LOOKED = 200


def is_map_style(index: Index, dataset: Value | None) -> bool:
    """Whether a data set is known to be one whose order the loader decides."""
    match dataset:
        case Instance(cls=cls):
            bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
            is_indexed = index.method(cls, "__getitem__") is not None
            return is_indexed and not bases & {"IterableDataset", "IterDataPipe"}
        case Applied(callee=callee, args=[joined, *_]) if callee.endswith("ConcatDataset"):
            parts = joined.items if isinstance(joined, Items) else []
            return bool(parts) and all(is_map_style(index, part) for part in parts)
        case Applied() | Part() if _is_stored_table(dataset):
            return True
        case Applied(callee=callee, args=[whole, *indices]) if callee.rpartition(".")[2] == "Subset":
            return is_map_style(index, whole) and not any(map(_is_mixed, indices))
        case Applied(callee=callee) if not _is_unknown(dataset):
            home, _, last = callee.rpartition(".")
            return "torchvision.datasets" in home or last in {"TensorDataset", "ImageFolder", "random_split"}
        case Part(base=base, key=int()) if isinstance(base, Applied) and not _is_unknown(base):
            return is_map_style(index, base)
        case Choice(options=options):
            return all(is_map_style(index, option) for option in options)
        case Items():
            return True
    return dataset is not None and _is_unknown(dataset) and _all_are_map_style(index)


def _is_stored_table(value: Value) -> bool:
    """Whether a value is a split of `datasets.load_dataset(...)`, mapped or not, that nothing has mixed."""
    while True:
        match value:
            case Part(base=base):
                value = base
            case Applied(callee="[]", args=[base, *_]):
                value = base
            case Applied(callee=callee, args=[base, *_]) if callee in TABLE_STEPS:
                value = base
            case Applied(callee=callee, keywords=keywords):
                is_loaded = callee in {"datasets.load_dataset", "datasets.load_from_disk"}
                return is_loaded and is_off(keywords.get("streaming"))
            case _:
                return False


def _is_unknown(value: Value) -> bool:
    """Whether nothing is known of a data set: a parameter, an attribute, an answer of unknown code."""
    match value:
        case Leaf() | Delayed():
            return True
        case Part(base=base):
            return not _is_stored_table(value) and (isinstance(base, Instance) or _is_unknown(base))
        case Applied(callee="()"):
            return True
    return False


@remembered
def _all_are_map_style(index: Index) -> bool:
    """Whether the program has data sets, and all of them leave their order to the loader."""
    texts = [module.source.text for module in index.modules.values()]
    if any(word in text for word in OF_STREAMS for text in texts):
        return False
    found = [cls for cls in index.classes if _is_data_set(index, cls)]
    return bool(found) and not any(_shuffles(cls) or _ignores_index(cls) for cls in found)


def _is_data_set(index: Index, cls: Class) -> bool:
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return "Dataset" in bases or {"__getitem__", "__len__"} <= cls.methods.keys()


def _is_mixed(value: Value) -> bool:
    """Whether indices were put into a random order."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MOST_LOOKED:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Applied) and one.callee.rpartition(".")[2] in SHUFFLING | CHOOSING:
            return True
        if isinstance(one, Leaf):
            return True  # where they come from is not known
        waiting.extend(inputs(one))
    return False


def mixes_by_itself(index: Index, dataset: Value | None) -> bool:
    """Whether a data set of the repository shuffles, or makes its items up whatever the index."""
    if not isinstance(dataset, Instance):
        return False
    return any(_shuffles(ancestor) or _ignores_index(ancestor) for ancestor in index.lineage(dataset.cls))


@lru_cache(maxsize=512)
def _shuffles(cls: Class) -> bool:
    """Whether a class puts its items into a random order, or is called for being nothing but random."""
    if MADE_UP & set(words(cls.name)):
        return True
    for method in cls.methods.values():
        inside = _of_one_item(method)
        for node in own_nodes(method.node):
            name = (dotted(node.func) or "").rpartition(".")[2] if isinstance(node, ast.Call) else ""
            if name in SHUFFLING and not (node in inside and not _is_of_whole(node)):
                return True
    return False


def _of_one_item(method: Function) -> set[ast.AST]:
    """What is done for each item: a random order inside an item is none of the items."""
    nodes = own_nodes(method.node)
    if method.name == "__getitem__" and not _ignores_index_in(method):
        item = method.parameters[1]
        of_all = {name for node in nodes for name in _made_of_all(node, item)}
        return {
            node
            for node in nodes
            if isinstance(node, ast.Call)
            if not any(isinstance(one, ast.Name) and one.id in of_all for one in all_nodes(node))
        }
    if method.name != "__init__":
        return set()
    loops = (node for node in nodes if isinstance(node, ast.For))
    return {inner for loop in loops for statement in loop.body for inner in all_nodes(statement)}


def _made_of_all(node: ast.AST, item: str) -> Iterator[str]:
    """The names that are given something of the whole data set, and not of one item: `n = len(self.rows)`."""
    if not isinstance(node, ast.Assign):
        return
    read = {one.id for one in all_nodes(node.value, ast.Name)}
    if "self" in read and item not in read:
        for target in node.targets:
            yield from (one.id for one in all_nodes(target, ast.Name))


def _is_of_whole(call: ast.AST) -> bool:
    """`random.shuffle(self.rows)`: all items and not one of them."""
    given = call.args if isinstance(call, ast.Call) else []
    return any(isinstance(one, ast.Name) and one.id == "self" for arg in given for one in all_nodes(arg))


@lru_cache(maxsize=512)
def _ignores_index(cls: Class) -> bool:
    method = cls.methods.get("__getitem__")
    return method is not None and len(method.parameters) > 1 and _ignores_index_in(method)


def _ignores_index_in(method: Function) -> bool:
    return len(method.parameters) < 2 or not _reads(method, method.parameters[1])


def _reads(method: Function, name: str) -> bool:
    """Whether a method reads a name for anything but to try again, or to say where it failed."""
    nodes = list(own_nodes(method.node))
    beside = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.Raise) or _tells(node) or _tries_again(node, name)
        for inner in ast.walk(node)
    }
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in nodes
        if id(node) not in beside
    )


def _tells(node: ast.AST) -> bool:
    called = (dotted(node.func) or "").rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return called in {"print", "warn", "warning", "info", "debug", "error", "exception"}


def _tries_again(node: ast.AST, name: str) -> bool:
    """`self.__getitem__(index)` and `self[index]`, where a sample could not be made."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="self"), attr="__getitem__"), args=[ast.Name(id=asked)]
        ):
            return asked == name
        case ast.Subscript(value=ast.Name(id="self"), slice=ast.Name(id=asked)):
            return asked == name
    return False


def is_off(value: Value | None) -> bool:
    """Whether an option is absent, None or False."""
    return value is None or (isinstance(value, Constant) and not value.value)


def is_parsed(value: Part) -> bool:
    """Whether a value is an option of the command line: `parser.parse_args().shuffle`."""
    return isinstance(value.base, Applied) and value.base.callee.endswith(("parse_args", "parse_known_args"))


def goes_in_order(sampler: Value | None) -> bool:
    """Whether a sampler gives the stored order: a sequential one, or a distributed one without shuffling."""
    match sampler:
        case Choice(options=options):
            return all(is_off(option) or goes_in_order(option) for option in options)
        case Applied(callee=callee, args=args, keywords=keywords):
            kind = callee.rpartition(".")[2]
            if kind.endswith("DistributedSampler"):
                given = args[SHUFFLE_PLACE] if len(args) > SHUFFLE_PLACE else keywords.get("shuffle")
                return given is not None and is_off(given)
            if kind == "BatchSampler":
                return goes_in_order(args[0] if args else keywords.get("sampler"))
            return kind == "SequentialSampler"
    return False
