"""Held-out data that are training data too: by a name, by slices that overlap, by a split drawn anew."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, External, Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, role_by_name
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies, own_assignments, own_below, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
HELD_OUT = frozenset({
    "val", "valid", "validation", "test", "eval", "evaluation", "dev", "holdout", "heldout", "testing", "va",
    "te", "tst", "held", "unseen",
})
TRAINING = frozenset({"train", "training", "trn", "tr", "fit"})
# Lists of these are told to a program, and hold no data.
ARGUMENTS = frozenset({"args", "argv", "arguments", "kwargs", "options", "opts", "flags", "params", "cmd"})
SPLITTING = frozenset({"torch.utils.data.random_split", "sklearn.model_selection.train_test_split"})
SEEDING = frozenset({
    "manual_seed", "seed", "set_seed", "seed_everything", "set_random_seed", "fix_seed", "setup_seed",
})
# fmt: on
TAKING_PARTS = re.compile(r"Subset|random_split|indices|KFold|train_test_split|(?<![a-z])folds?(?![a-z])")
TREATMENTS = TRAINING | {"noise", "jitter", "augment", "is", "flip", "mirror", "dropout", "shuffle"}
CHANGES = ("transform", "tf", "aug", "preprocess", "collate")
# What rows are read with, out of a file that is named.
OPENING = frozenset({
    "memmap", "fromfile", "loadtxt", "genfromtxt", "open", "read_text", "read_csv", "read_parquet",
    "read_table", "read_json", "read_pickle", "read_feather", "open_memmap", "load_from_disk", "load_npz",
})  # fmt: skip
JOINING = frozenset(
    {"concat", "concatenate", "ConcatDataset", "vstack", "hstack", "cat", "concatenate_datasets"}
)
PART = re.compile(r"^(?P<name>[\w-]+)(?:\[(?P<low>-?\d+%?)?:(?P<high>-?\d+%?)?\])?$")


@dataclass(frozen=True, slots=True, eq=False)
class Leak:
    """Held-out data and the training data that they are among, with the reason."""

    source: Source
    held_out: ast.AST
    training: ast.AST
    why: str


def leaks(index: Index) -> Iterator[Leak]:
    """Every held-out set of the repository that training draws from as well."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            assigned = list(_assignments(body))
            yield from _loaders_of_training_data(module.source, assigned)
            yield from _same_split_twice(module.source, assigned)
            yield from _overlapping(module.source, [*assigned, *_marked(body)])
            yield from _whole_beside_slice(module.source, body, assigned)
            yield from _overlapping_parts(index, module, assigned)
            yield from _whole_beside_part(module.source, body, assigned)
            yield from _all_rows_beside_some(module.source, assigned)
            yield from _held_out_masks(module.source, body)
            yield from _split_anew(index, module, body)
            yield from _joined_into_training(module.source, body)
            yield from _trainers_own_part(module.source, body)
        yield from _made_alike(index, module)
    yield from _handed_back_whole(index)


def _assignments(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """What the names and attributes of a body are given, pairs of tuples one by one."""
    for node in own_assignments(body):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
                yield from ((_last(target), value) for target, value in pairs if _last(target))
            case ast.Assign(targets=[target], value=value) if _last(target):
                yield _last(target), value


def _last(target: ast.expr) -> str:
    return (
        target.id
        if isinstance(target, ast.Name)
        else target.attr
        if isinstance(target, ast.Attribute)
        else ""
    )


def _is_held_out(name: str) -> bool:
    return bool(HELD_OUT & set(words(name))) and not TRAINING & set(words(name))


def _is_training(name: str) -> bool:
    return bool(TRAINING & set(words(name))) and not HELD_OUT & set(words(name))


# --- by a name


def _loaders_of_training_data(source: Source, assigned: list[tuple[str, ast.expr]]) -> Iterator[Leak]:
    """`val_loader = DataLoader(train_set)` beside `train_loader = DataLoader(train_set)`."""
    loaded = [(name, value, _loaded(value)) for name, value in assigned if _loaded(value)]
    for name, value, data in loaded:
        if not _is_held_out(name) or not _is_training(data.rpartition(".")[2]):
            continue
        twin = next((one for other, one, same in loaded if _is_training(other) and same == data), None)
        if twin is not None:
            yield Leak(source, value, twin, f"{name} is loaded from {data}, which training is loaded from")


def _loaded(value: ast.expr) -> str:
    """The data set that a loader is made of, by its name."""
    if not isinstance(value, ast.Call) or not bare_name(value).endswith("DataLoader"):
        return ""
    given = (
        value.args[0] if value.args else next((k.value for k in value.keywords if k.arg == "dataset"), None)
    )
    return dotted(given) or "" if given is not None else ""


# --- by a split that is asked for twice


def _same_split_twice(source: Source, assigned: list[tuple[str, ast.expr]]) -> Iterator[Leak]:
    """Two loaders, one of them shuffled, of two data sets that are the same training split.

    Held-out data are often cut out of a second copy of it, with transforms of their own: then a subset or a
    sampler stands between. Where any other split is made, it is what is held out.
    """
    made = {name: value for name, value in assigned if isinstance(value, ast.Call) and _split(value)}
    trained = {name: value for name, value in made.items() if _split(value) in TRAINING}
    if len(trained) != len(made):
        return
    loaded = [(name, value, _loaded(value)) for name, value in assigned if _loaded(value) in trained]
    shuffled = [one for one in loaded if _is_shuffled(one[1])]
    for name, value, data in loaded:
        if _is_shuffled(value) or _is_sampled(value) or any(map(_is_training, (name, data))):
            continue
        twins = (one for one in shuffled if one[2] != data and _are_alike(trained[one[2]], trained[data]))
        if (twin := next(twins, None)) is not None:
            why = f"{name} loads the training split that {twin[0]} trains on: `{ast.unparse(trained[data])}`"
            yield Leak(source, trained[data], trained[twin[2]], why)


def _split(call: ast.Call) -> str:
    """Which part of the data a call asks for, "train" or another; empty where nothing is asked."""
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg="train", value=ast.Constant(value=bool(asked))):
                return "train" if asked else "test"
            case ast.keyword(
                arg="split" | "subset" | "image_set" | "mode" | "phase", value=ast.Constant(value=str(part))
            ):
                return part.lower()
    return ""


def _is_shuffled(loader: ast.expr) -> bool:
    return isinstance(loader, ast.Call) and any(
        keyword.arg == "shuffle" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in loader.keywords
    )


def _is_sampled(loader: ast.expr) -> bool:
    named = {keyword.arg for keyword in loader.keywords} if isinstance(loader, ast.Call) else set()
    return bool(named & {"sampler", "batch_sampler", None})


def _are_alike(one: ast.Call, other: ast.Call) -> bool:
    """Whether two data sets are made alike but for what is done to their samples."""
    return _told(one) == _told(other)


def _told(call: ast.Call) -> tuple[object, ...]:
    kept = (k for k in call.keywords if not any(word in (k.arg or "") for word in ("transform", "download")))
    named = sorted((str(keyword.arg), ast.dump(keyword.value)) for keyword in kept)
    return (ast.dump(call.func), tuple(map(ast.dump, call.args)), tuple(named))


# --- by data sets that are made alike for both


def _made_alike(index: Index, module: Module) -> Iterator[Leak]:
    """`fit(net, Pairs("train"), Pairs("train"))`: what is held out is made as what is trained on.

    Where anything takes parts of a data set by their places, the rest may be what is held out.
    """
    if TAKING_PARTS.search(module.source.text):
        return
    made = list(_data_by_role(index, module))
    for role, held in made:
        if not _is_held_out(role) or bare_name(held) in {"get", "pop"}:
            continue  # what is looked up is made elsewhere
        if not (_names_a_split(held) or _is_told_a_split(index, module, held)):
            continue
        twins = (one for other, one in made if _is_training(other) and _told_data(one) == _told_data(held))
        if (twin := next(twins, None)) is not None and twin is not held:
            why = f"{role} is made as the training data are: `{ast.unparse(held)}`"
            yield Leak(module.source, held, twin, why)


def _data_by_role(index: Index, module: Module) -> Iterator[tuple[str, ast.Call]]:
    """The data sets that are made in a file, by the names, methods and parameters that they are made for."""
    for node in all_nodes(module.source.tree):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as value):
                yield from ((_last(target), data) for data in _data_in(value))
            case ast.FunctionDef(name="train_dataloader" | "val_dataloader" as name):
                returned = (one.value for one in all_nodes(node, ast.Return))
                calls = (one for one in returned if isinstance(one, ast.Call))
                yield from (
                    (name.removesuffix("_dataloader"), data) for one in calls for data in _data_in(one)
                )
            case ast.Call():
                yield from _handed(index, module, node)


def _data_in(call: ast.Call) -> Iterator[ast.Call]:
    """The data set that is made in a line, or for the loader that is."""
    if not bare_name(call).endswith("DataLoader"):
        yield call
        return
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dataset"), None)
    if isinstance(given, ast.Call):
        yield given


def _handed(index: Index, module: Module, call: ast.Call) -> Iterator[tuple[str, ast.Call]]:
    target = index.resolve(module, dotted(call.func) or "")
    init = index.method(target, "__init__") if isinstance(target, Class) else target
    parameters = init.parameters if isinstance(init, Function) else ()
    placed = zip(parameters[1:] if isinstance(target, Class) else parameters, call.args, strict=False)
    named = ((str(word.arg), word.value) for word in call.keywords if word.arg is not None)
    for name, value in (*placed, *named):
        if isinstance(value, ast.Call):
            yield name, value


def _names_a_split(call: ast.Call) -> bool:
    """Whether a data set is told which part of the data it is."""
    given = (*call.args, *(word.value for word in call.keywords))
    texts = (one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str))
    spoken = {word for text in texts for word in re.split(r"[^a-z]+", text.lower())}
    return bool(spoken & (HELD_OUT | TRAINING | {"trainval"}))


def _is_told_a_split(index: Index, module: Module, call: ast.Call) -> bool:
    """The same of a data set whose part is computed or looked up: `f"{root}/train"`, `cfg["train"]`."""
    target = index.resolve(module, dotted(call.func) or "")
    is_data = isinstance(target, Class) and index.method(target, "__getitem__") is not None
    is_data = is_data or any(bare_name(one) in OPENING for one in all_nodes(call, ast.Call))
    given = (*call.args, *(word.value for word in call.keywords))
    spoken = {word for one in given for word in _spoken_parts(one)}
    return (is_data or bare_name(call).endswith(("Dataset", "Folder"))) and bool(
        spoken & (HELD_OUT | TRAINING | {"trainval"})
    )


def _spoken_parts(given: ast.expr) -> Iterator[str]:
    """The words of texts and of what is looked up by them; what is called or computed says nothing."""
    for node in all_nodes(given):
        match node:
            case ast.Constant(value=str() as text):
                yield from re.split(r"[^a-z]+", text.lower())
            case ast.Attribute(attr=name, value=ast.Name() | ast.Attribute()):
                yield from words(name)
            case ast.Name(id=name) if name.isupper():
                yield from words(name)


def _told_data(call: ast.Call) -> tuple[object, ...]:
    """What a data set is made with, but for what is done to its samples."""
    placed = [one for one in call.args if not any(word in ast.unparse(one).lower() for word in CHANGES)]
    placed = [one for one in placed if not _is_switch(one)]
    kept = [one for one in call.keywords if not any(word in (one.arg or "") for word in CHANGES)]
    named = sorted((str(one.arg), ast.dump(one.value)) for one in kept if not _is_treatment(one))
    return (ast.dump(call.func), tuple(map(ast.dump, placed)), tuple(named))


def _is_switch(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and isinstance(given.value, bool)


def _is_treatment(keyword: ast.keyword) -> bool:
    """`noise=0.01`, `training=True`: how samples are treated, not which they are."""
    is_plain = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool | float)
    return is_plain and bool(TREATMENTS.intersection(words(keyword.arg or "")))


# --- by two random splits of the same samples


def _split_anew(index: Index, module: Module, body: Sequence[ast.stmt]) -> Iterator[Leak]:
    """`train, _ = random_split(a, sizes)` and `_, val = random_split(b, sizes)`."""
    own = [statement for statement in body if not isinstance(statement, FunctionNode | ast.ClassDef)]
    kept: list[tuple[int, ast.Call]] = []
    for node in (one for statement in own for one in own_below(statement, ast.Assign)):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[first, second])], value=ast.Call() as call):
                if _is_unseeded_split(index, module, call):
                    used = [not (_last(one) or "_").startswith("_") for one in (first, second)]
                    if sum(used) == 1:
                        kept.append((used.index(True), call))
    trained = next((call for part, call in kept if part == 0), None)
    held = next((call for part, call in kept if part == 1), None)
    if trained is None or held is None:
        return
    seeds = [c for statement in own for c in own_below(statement, ast.Call) if bare_name(c) in SEEDING]
    if len(seeds) < 2:
        why = "training and held-out data come from two random splits, each of which draws its own parts"
        yield Leak(module.source, held, trained, why)


# --- by joining


def _joined_into_training(source: Source, body: Sequence[ast.stmt]) -> Iterator[Leak]:
    """`train = train + val`, `train = pd.concat([train, val])`, where `val` goes on being held out."""
    own = [statement for statement in body if not isinstance(statement, FunctionNode | ast.ClassDef)]
    nodes = [one for statement in own for one in own_below(statement)]
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=whole)], value=value) if _is_training(whole):
                joined = _joined(value)
            case ast.Assign(targets=[target], value=ast.Call(args=[rows, *_]) as value) if (
                bare_name(value).endswith("DataLoader") and _is_training(_last(target)) and _joined(rows)
            ):
                joined = _joined(rows)
                whole = next((name for name in joined if _is_training(name)), "")
            case ast.AugAssign(target=ast.Name(id=whole), op=ast.Add(), value=ast.Name(id=added)):
                joined = [whole, added]
            case _:
                continue
        if whole not in joined or not _is_training(whole):
            continue
        behind = [one for one in nodes if _line(one) > _line(node)]
        for held in set(joined) - {whole}:
            if ARGUMENTS & {words(held)[-1], words(whole)[-1]}:
                continue
            if any(_is_measured_with(one, held, whole) for one in behind):
                yield Leak(source, node, node, f"{held} is added to {whole}, and is held out all the same")


def _joined(value: ast.expr) -> list[str]:
    """The names that are put together: `a + b`, `pd.concat([a, b])`, `ConcatDataset([a, b])`."""
    match value:
        case ast.BinOp(left=ast.Name(id=one), op=ast.Add(), right=ast.Name(id=other)):
            return [one, other]
        case ast.List(elts=[ast.Starred(value=ast.Name(id=one)), ast.Starred(value=ast.Name(id=other))]):
            return [one, other]
        case ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_]):
            if bare_name(value) in JOINING:
                return [one.id for one in parts if isinstance(one, ast.Name)]
    return []


def _is_measured_with(node: ast.AST, held: str, whole: str) -> bool:
    """`val_loader = DataLoader(val)`, `fit(..., eval_data=val)`: what is held out is made of it alone."""
    match node:
        case ast.Assign(targets=[target], value=value) if _is_held_out(_last(target)):
            named = {one.id for one in all_nodes(value, ast.Name)}
            return held in named and whole not in named
        case ast.keyword(arg=str() as name, value=ast.Name(id=given)):
            return given == held and _is_held_out(name)
    return False


def _trainers_own_part(source: Source, body: Sequence[ast.stmt]) -> Iterator[Leak]:
    """`Trainer(train_dataset=data, eval_dataset=data.select(range(100)))`."""
    own = [statement for statement in body if not isinstance(statement, FunctionNode | ast.ClassDef)]
    for call in (one for statement in own for one in own_below(statement, ast.Call)):
        given = {word.arg: word.value for word in call.keywords if word.arg is not None}
        trained = next(
            (value for name, value in given.items() if _is_training(name) and "data" in name), None
        )
        for name, held in given.items():
            if trained is None or not _is_held_out(name) or "data" not in name:
                continue
            if _is_taken_out_of(held, ast.dump(trained)) and not isinstance(trained, ast.Call):
                why = f"{name} is taken out of what is trained on: `{ast.unparse(held)}`"
                yield Leak(source, held, trained, why)


def _is_taken_out_of(held: ast.expr, trained: str) -> bool:
    """Whether a set is a choice of the rows of what is trained on, all of which stay there."""
    node, chosen = held, False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in {"select", "shuffle", "take", "map", "filter", "with_format"}:
            return False
        chosen = chosen or node.func.attr in {"select", "take"}
        node = node.func.value
    return chosen and ast.dump(node) == trained


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


# --- by masks


def _held_out_masks(source: Source, body: Sequence[ast.stmt]) -> Iterator[Leak]:
    """`loss = criterion(out[data.test_mask], ...)` and `loss.backward()`, as with the nodes of one graph."""
    learned = {
        call.func.value.id
        for statement in body
        for call in all_nodes(statement, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and isinstance(call.func.value, ast.Name)
    }
    for node in (one for statement in body for one in all_nodes(statement, ast.Assign)) if learned else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if name in learned:
                masks = {_last(one) for one in all_nodes(value) if isinstance(one, ast.Name | ast.Attribute)}
                spoken = {word for mask in masks if mask.endswith("mask") for word in words(mask)}
                if spoken & HELD_OUT and not spoken & TRAINING:
                    yield Leak(
                        source, value, node, "the loss that is learned from is that of held-out samples"
                    )


# --- by slices


def _overlapping(source: Source, assigned: list[tuple[str, ast.expr]]) -> Iterator[Leak]:
    """`train = rows[:900]` and `val = rows[800:]`."""
    cut = [(name, value, _slice(value)) for name, value in assigned]
    for name, value, held in cut:
        if held is None or not _is_held_out(name):
            continue
        for other, twin, trained in cut:
            if trained is None or not _is_training(other) or trained[0] != held[0]:
                continue
            if _overlap(held[1:], trained[1:]):
                why = f"{name} and {other} overlap: `{ast.unparse(value)}`, `{ast.unparse(twin)}`"
                yield Leak(source, value, twin, why)


def _marked(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """What masks mark: `train_mask[order[:80]] = True`."""
    own = [statement for statement in body if not isinstance(statement, FunctionNode | ast.ClassDef)]
    for node in (one for statement in own for one in own_below(statement, ast.Assign)):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=part)], value=ast.Constant(value=1)
            ):
                yield name, part


def _whole_beside_slice(
    source: Source, body: Sequence[ast.stmt], assigned: list[tuple[str, ast.expr]]
) -> Iterator[Leak]:
    """`train, val = order, order[cut:]`, where nothing is taken out of `train` afterwards."""
    given = [name for name, _ in assigned]
    thinned = {
        _last(one.value if isinstance(one, ast.Subscript) else one)
        for statement in body
        for node in all_nodes(statement, ast.Delete)
        for one in node.targets
    }
    for name, value in assigned:
        match value:
            case ast.Subscript(value=ast.Name(id=whole), slice=ast.Slice()) if _is_held_out(name):
                for other, twin in assigned:
                    is_whole = isinstance(twin, ast.Name) and twin.id == whole and _is_training(other)
                    is_kept = given.count(other) == 1 and given.count(whole) <= 1
                    if is_whole and is_kept and not {other, whole} & thinned:
                        why = f"{name} is a part of {whole}, and {other} is all of it"
                        yield Leak(source, value, twin, why)


def _slice(value: ast.expr) -> tuple[str, float, float] | None:
    """What is cut, from where and to where; None where that is not written down as numbers."""
    match value:
        case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            low, high = _number(lower, 0.0), _number(upper, math.inf)
            return (ast.unparse(whole), low, high) if low is not None and high is not None else None
    return None


def _number(node: ast.expr | None, default: float) -> float | None:
    match node:
        case None:
            return default
        case ast.Constant(value=int() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -float(number)
    return None


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two ranges share a place, whatever the length is.

    Of one that is counted from the end and one from the start that is not known.
    """
    signs = {math.copysign(1.0, edge) for edge in (*one, *other) if edge not in (0.0, math.inf)}
    if len(signs) > 1:
        return False
    if signs == {-1.0}:  # counted from the end, where "from the start" is as far away as it gets
        one, other = (
            (-math.inf if low == 0.0 else low, 0.0 if high == math.inf else high)
            for low, high in (one, other)
        )
    return max(one[0], other[0]) < min(one[1], other[1])


# --- by parts of a data set of the hub


def _whole_beside_part(
    source: Source, body: Sequence[ast.stmt], named: list[tuple[str, ast.expr]]
) -> Iterator[Leak]:
    """`train = Subset(data, order)` and `val = Subset(data, order[:100])`, of one order."""
    given = [name for name, _ in _assignments(body)]
    trained = {whole: value for name, value in named if _is_training(name) and (whole := _chosen(value)[0])}
    for name, value in named:
        part = _chosen(value)[1]
        if part in trained and _is_held_out(name) and given.count(part) <= 1:
            why = f"{name} is a part of {part}, and training has all of it"
            yield Leak(source, value, trained[part], why)


def _all_rows_beside_some(source: Source, assigned: list[tuple[str, ast.expr]]) -> Iterator[Leak]:
    """`held = [rows[i] for i in order[:n]]` beside `rest = [rows[i] for i in order]`."""
    gone = [(name, value, _rows_gone_through(value)) for name, value in assigned]
    for name, value, rows in gone:
        if rows is None or not rows[2] or not _is_held_out(name):
            continue
        for other, whole, all_rows in gone:
            if all_rows == (*rows[:2], False) and not _is_held_out(other) and other != name:
                yield Leak(source, value, whole, f"{other} has every row of {rows[0]}, those of {name} too")


def _rows_gone_through(value: ast.expr) -> tuple[str, str, bool] | None:
    """Of a list that is put together from rows by their numbers: the rows, the numbers, whether in part."""
    match value:
        case ast.ListComp(
            elt=ast.Subscript(value=rows, slice=ast.Name(id=number)),
            generators=[ast.comprehension(target=ast.Name(id=each), iter=over, ifs=[])],
        ) if number == each:
            is_part = isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice)
            numbers = over.value if isinstance(over, ast.Subscript) and is_part else over
            return ast.unparse(rows), ast.unparse(numbers), is_part
    return None


def _chosen(value: ast.expr) -> tuple[str, str]:
    """The name of all that a subset takes, or of what it takes a part of."""
    if not isinstance(value, ast.Call) or bare_name(value) != "Subset" or len(value.args) < 2:
        return "", ""
    match value.args[1]:
        case ast.Name(id=whole):
            return whole, ""
        case ast.Subscript(value=ast.Name(id=part), slice=ast.Slice()):
            return "", part
    return "", ""


def _handed_back_whole(index: Index) -> Iterator[Leak]:
    """The same in a function that gives both back: `train, val = split(data)`."""
    for module in index.modules.values():
        for node in all_nodes(module.source.tree) if not is_test(module.source) else ():
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=func)):
                    function = index.resolve(module, dotted(func) or "")
                    if isinstance(function, Function):
                        named = list(zip(map(_last, targets), _returned_row(function), strict=False))
                        yield from _whole_beside_part(function.source, function.node.body, named)


def _returned_row(function: Function) -> list[ast.expr]:
    """What a function with one return gives back, one by one."""
    rows = [node.value for node in own_nodes(function.node, ast.Return)]
    return rows[0].elts if len(rows) == 1 and isinstance(rows[0], ast.Tuple) else []


def _overlapping_parts(index: Index, module: Module, assigned: list[tuple[str, ast.expr]]) -> Iterator[Leak]:
    """`load_dataset(name, split="train")` for training and `split="train[:5%]"` for validation."""
    parts = [(name, value, _part(index, module, value)) for name, value in assigned]
    for name, value, held in parts:
        if held is None or not _is_held_out(name):
            continue
        for other, twin, trained in parts:
            if trained is None or not _is_training(other) or trained[:2] != held[:2]:
                continue
            if _overlap(held[2:], trained[2:]):
                why = f"{name} and {other} overlap: both are parts of {held[1]!r} that share samples"
                yield Leak(module.source, value, twin, why)


def _part(index: Index, module: Module, value: ast.expr) -> tuple[str, str, float, float] | None:
    if not isinstance(value, ast.Call) or bare_name(value) != "load_dataset":
        return None
    target = index.resolve(module, dotted(value.func) or "")
    split = next((one.value for one in value.keywords if one.arg == "split"), None)
    if (
        not isinstance(target, External)
        or not isinstance(split, ast.Constant)
        or not isinstance(split.value, str)
    ):
        return None
    found = PART.match(split.value)
    if found is None:
        return None
    low, high = found["low"] or "0", found["high"] or "inf"
    units = {edge.endswith("%") for edge in (low, high) if edge not in {"0", "inf"}}
    if len(units) > 1:
        return None
    others = [ast.unparse(one) for one in value.args] + [
        ast.unparse(k) for k in value.keywords if k.arg != "split"
    ]
    return ", ".join(others), found["name"], float(low.rstrip("%")), float(high.rstrip("%"))


# --- by a split that is drawn anew


def redrawn_splits(index: Index) -> Iterator[tuple[Source, ast.Call]]:
    """Random splits that nothing seeds, in programs that are resumed: each start draws another one."""
    sources = [module for module in index.modules.values() if not is_test(module.source)]
    calls = [node for module in sources for node in all_nodes(module.source.tree, ast.Call)]
    if SEEDING & set(map(bare_name, calls)) or not any(map(_resumes, calls)):
        return
    for module in sources:
        for node in all_nodes(module.source.tree):
            if isinstance(node, ast.Call) and _is_unseeded_split(index, module, node):
                yield module.source, node


def _resumes(call: ast.Call) -> bool:
    """`optimizer.load_state_dict(...)`: who only loads the best weights at the end goes on with nothing."""
    match call.func:
        case ast.Attribute(value=holder, attr="load_state_dict"):
            return role_by_name((dotted(holder) or "").rpartition(".")[2]) is Role.OPTIMIZER
    return bare_name(call) == "load_state"


def _is_unseeded_split(index: Index, module: Module, call: ast.Call) -> bool:
    target = index.resolve(module, dotted(call.func) or "")
    if not isinstance(target, External) or target.name not in SPLITTING:
        return False
    given = {one.arg for one in call.keywords}
    is_kept = any(
        one.arg == "shuffle" and getattr(one.value, "value", None) is False for one in call.keywords
    )
    return not given & {"generator", "random_state", None} and not is_kept and len(call.args) < 3
