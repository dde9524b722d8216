"""Rows that are copied before some of them are held out, so that a copy is on either side.

x, y = sampler.fit_resample(x, y); train_test_split(x, y)      a rare class is drawn again
x = np.concatenate([x, noisy(x)]); train_test_split(x, y)      every sample has an altered copy
rows = rows.map(paraphrase, batched=True).train_test_split()   one row becomes several
both = ConcatDataset([Cells(root), Cells(root, augment)])      one folder twice, then `random_split`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from stethoscope.program.data.leaks import HELD_OUT, TRAINING, Leak
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

RESAMPLING = frozenset({"fit_resample", "fit_sample", "resample"})
JOINING = frozenset({"concatenate", "concat", "cat", "vstack", "append"})
SPLITTING = frozenset({"train_test_split", "random_split", "StratifiedShuffleSplit"})
WRAPPERS = frozenset({"TensorDataset", "from_numpy", "tensor", "array", "asarray", "list", "zip", "Dataset"})
GROUPED = ("Group", "groups=", "groupby")


def copied_rows(index: Index) -> Iterator[Leak]:
    """Every split of rows of which some are copies of others."""
    copying = {function.name: function for function in index.functions if _copies(function)}
    growing = {function.name for function in index.functions if _gives_more_rows(function)}
    for function in index.bodies:
        if not is_test(function.source) and not any(word in function.source.text for word in GROUPED):
            yield from _in_function(function, copying, growing)


def _in_function(function: Function, copying: Mapping[str, Function], growing: set[str]) -> Iterator[Leak]:
    statements = sorted(
        own_nodes(function.node, ast.Assign, ast.Expr, ast.Return), key=lambda node: node.lineno
    )
    copied: dict[str, ast.AST] = {}
    parts: dict[str, set[str]] = {}
    for statement in statements:
        split = _split_of(statement, copied, parts)
        if split is not None:
            name, node = split
            why = f"`{name}` holds copies of its own rows when `{ast.unparse(node)}` deals them out"
            yield Leak(function.source, node, copied[name], why)
            return
        if isinstance(statement, ast.Assign):
            _note(statement, copied, copying, growing, statements)


def _note(
    statement: ast.Assign,
    copied: dict[str, ast.AST],
    copying: Mapping[str, Function],
    growing: set[str],
    statements: Sequence[ast.stmt],
) -> None:
    """Keep which names hold copies after a statement."""
    names = [one.id for target in statement.targets for one in all_nodes(target, ast.Name)]
    if any({*words(name)} & (TRAINING | HELD_OUT) for name in names):
        return
    if _is_copying(statement.value, copying, growing, statements):
        copied.update(dict.fromkeys(names, statement))
        return
    given = {one.id for one in all_nodes(statement.value, ast.Name)}
    is_handed_on = isinstance(statement.value, ast.Call | ast.Name | ast.Tuple | ast.Subscript)
    origin = next((copied[one] for one in given if one in copied), None)
    if origin is not None and is_handed_on and _keeps_rows(statement.value):
        copied.update(dict.fromkeys(names, origin))
        return
    for name in names:
        copied.pop(name, None)


def _keeps_rows(value: ast.expr) -> bool:
    """Whether what is computed still has the rows: a tensor or a data set of them, not their number."""
    calls = [bare_name(call) for call in all_nodes(value, ast.Call)]
    lessening = {
        "len",
        "unique",
        "drop_duplicates",
        "mean",
        "std",
        "max",
        "min",
        "sum",
        "bincount",
        "Counter",
    }
    return not lessening.intersection(calls) and not any("unique" in one for one in calls)


def _is_copying(
    value: ast.expr, copying: Mapping[str, Function], growing: set[str], statements: Sequence[ast.stmt]
) -> bool:
    for call in all_nodes(value, ast.Call):
        name = bare_name(call)
        if name in RESAMPLING and (name != "resample" or _replaces(call)):
            return True
        if isinstance(call.func, ast.Name) and name in copying and not _is_of_training(call):
            return True
        if name == "map" and _is_batched(call) and _handed(call) in growing and not _is_of_training(call):
            return True
        if name in JOINING and _joins_copies(call):
            return True
        if name == "ConcatDataset" and _are_one_folder(call, statements):
            return True
    return False


def _is_of_training(call: ast.Call) -> bool:
    """`balance(x_train)`: what is held out was taken away before."""
    holder = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [*call.args, *(word.value for word in call.keywords), *holder]
    names = [_text(one) for arg in given for one in all_nodes(arg)]
    return any({*words(name)} & (TRAINING | {"source", "part", "fold"}) for name in names if name)


def _text(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str() as said) if said.isidentifier():
            return said
    return ""


def _replaces(call: ast.Call) -> bool:
    told = {word.arg: word.value for word in call.keywords}
    value = told.get("replace")
    is_off = isinstance(value, ast.Constant) and value.value is False
    return ("replace" in told or "n_samples" in told) and not is_off and not _is_of_training(call)


def _is_batched(call: ast.Call) -> bool:
    return any(
        word.arg == "batched" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in call.keywords
    )


def _handed(call: ast.Call) -> str:
    first = call.args[0] if call.args else next((w.value for w in call.keywords if w.arg == "function"), None)
    return (dotted(first) or "").rpartition(".")[2] if first is not None else ""


def _joins_copies(call: ast.Call) -> bool:
    """`concatenate([x, noisy(x)])` along the rows: what is joined to `x` is made of it."""
    told = {word.arg: word.value for word in call.keywords}
    axis = told.get("axis", told.get("dim", call.args[1] if len(call.args) > 1 else None))
    if axis is not None and not (isinstance(axis, ast.Constant) and axis.value in (0, "index", "rows")):
        return False
    if not call.args or not isinstance(call.args[0], ast.List | ast.Tuple) or _is_of_training(call):
        return False
    pieces = call.args[0].elts
    plain = {dotted(one) for one in pieces if isinstance(one, ast.Name | ast.Attribute)}
    return any(isinstance(one, ast.Call) and _alters(one, plain) for one in pieces)


def _alters(call: ast.Call, plain: set[str | None]) -> bool:
    """Whether a call gives an altered or a repeated copy of one of the rows beside it."""
    altering = {
        "flip",
        "fliplr",
        "flipud",
        "sample",
        "augment",
        "jitter",
        "noise",
        "noisy",
        "rotate",
        "rot90",
    }
    altering |= {"repeat", "tile", "mirror", "perturb", "roll", "shift", "augmented"}
    spoken = {*words(bare_name(call))}
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    given = [*call.args, *([holder] if holder is not None else [])]
    return bool(spoken & altering) and any(dotted(one) in plain for one in given)


def _are_one_folder(call: ast.Call, statements: Sequence[ast.stmt]) -> bool:
    """`ConcatDataset([plain, augmented])` of data sets that read one place and change it in two ways."""
    if not call.args or not isinstance(call.args[0], ast.List | ast.Tuple):
        return False
    made: list[str] = []
    for piece in call.args[0].elts:
        value: ast.expr | None = piece
        if isinstance(piece, ast.Name):
            given = [
                one.value for one in statements if isinstance(one, ast.Assign) and _is_for(one, piece.id)
            ]
            value = given[0] if len(given) == 1 else None
        if isinstance(value, ast.Call) and value.args:
            made.append(f"{ast.unparse(value.func)}({ast.unparse(value.args[0])})")
    return len(made) > len(set(made))


def _is_for(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


# --- functions of the program that copy rows


def _copies(function: Function) -> bool:
    """Whether a function gives rows back of which some are drawn again: `choice(rare, n, replace=True)`."""
    drawn = {
        name
        for node in own_nodes(function.node, ast.Assign)
        if any(map(_draws_again, all_nodes(node.value, ast.Call)))
        for target in node.targets
        for name in (dotted(target),)
        if name
    }
    calls = own_nodes(function.node, ast.Call)
    resampled = any(bare_name(one) == "fit_resample" for one in calls)
    resampled = resampled or any(bare_name(one) in JOINING and _joins_copies(one) for one in calls)
    joined = any(
        bool({one.id for one in all_nodes(call, ast.Name)} & drawn)
        or any(map(_draws_again, all_nodes(call, ast.Call)))
        for call in calls
        if bare_name(call) in JOINING
    )
    returned = any(node.value is not None for node in own_nodes(function.node, ast.Return))
    return returned and (joined or resampled)


def _draws_again(call: ast.Call) -> bool:
    """`rng.choice(rare, n, replace=True)`, `random.choices(rare, k=n)`, `np.repeat(rare, times)`."""
    if bare_name(call) not in {"choice", "choices", "repeat"}:
        return False
    if bare_name(call) == "repeat":
        return (
            len(call.args) == 2 and not call.keywords and dotted(call.func) in {"np.repeat", "numpy.repeat"}
        )
    if bare_name(call) == "choices":
        return True
    told = {word.arg: word.value for word in call.keywords}
    value = told.get("replace")
    return isinstance(value, ast.Constant) and value.value is True


def _gives_more_rows(function: Function) -> bool:
    """Whether a function over a batch of rows appends several for one: a loop of appends inside its loop."""
    for outer in own_nodes(function.node, ast.For):
        for inner in all_nodes(outer):
            if inner is outer or not isinstance(inner, ast.For):
                continue
            calls = [call for call in all_nodes(inner, ast.Call) if isinstance(call.func, ast.Attribute)]
            if any(call.func.attr == "append" for call in calls if isinstance(call.func, ast.Attribute)):
                return _is_counted(inner)
    return False


def _is_counted(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and bare_name(loop.iter) == "range"


# --- splits


def _split_of(
    statement: ast.stmt, copied: Mapping[str, ast.AST], parts: dict[str, set[str]]
) -> tuple[str, ast.AST] | None:
    """The rows with copies that a statement deals out, and how."""
    for call in all_nodes(statement, ast.Call):
        name = bare_name(call)
        if name in SPLITTING:
            given = [_unwrapped(one) for one in call.args[:1]]
            holder = call.func.value if isinstance(call.func, ast.Attribute) else None
            for one in (*given, *([holder] if holder is not None else [])):
                if dotted(one) in copied:
                    return dotted(one) or "", call
    if isinstance(statement, ast.Assign):
        return _sliced(statement, copied, parts)
    return None


def _sliced(
    statement: ast.Assign, copied: Mapping[str, ast.AST], parts: dict[str, set[str]]
) -> tuple[str, ast.AST] | None:
    """`train = x[order[:n]]` and `val = x[order[n:]]`: the second one completes the split."""
    pairs = [(statement.targets[0], statement.value)]
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
    for target, value in pairs:
        match value:
            case ast.Subscript(value=base):
                whole = (dotted(base) or "").removesuffix(".iloc").removesuffix(".loc")
                if whole in copied:
                    spoken = parts.setdefault(whole, set())
                    spoken.update(words((dotted(target) or "").rpartition(".")[2]))
                    if spoken & TRAINING and spoken & HELD_OUT:
                        return whole, value
    return None


def _unwrapped(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and node.args:
        is_wrapper = bare_name(node) in WRAPPERS or bare_name(node)[:1].isupper()
        if not is_wrapper:
            return node
        node = node.args[0]
    return node
