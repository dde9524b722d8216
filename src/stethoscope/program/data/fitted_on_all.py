"""Statistics that are taken of all rows before some of them are held out.

X = StandardScaler().fit_transform(X); train_test_split(X, y)     by a library
X = (X - X.mean(0)) / X.std(0); train, val = X[:n], X[n:]         by hand
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.data.unscaled_siblings import TARGETS
from stethoscope.program.index import Class, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, bodies, own_below
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

SCALERS = ("Scaler", "PowerTransformer", "QuantileTransformer", "PCA", "Imputer")
# What looks at the answers: choices of features, and encoders that put a mean of answers for each category.
CHOOSERS = (
    "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE", "RFECV", "TargetEncoder", "CatBoostEncoder",
    "LeaveOneOutEncoder", "WOEEncoder", "JamesSteinEncoder", "MEstimateEncoder",
)  # fmt: skip
SIDES = {ast.Lt: "head", ast.LtE: "head", ast.Gt: "tail", ast.GtE: "tail"}
WHOLE_ROWS = frozenset({"to_numpy", "astype", "drop", "fillna", "copy", "select_dtypes", "reset_index"})
PARTED = TRAINING | HELD_OUT | {"source"}


@dataclass(frozen=True, slots=True, eq=False)
class FittedOnAll:
    """Where statistics are taken, where the rows are split, and whether the answers had a say."""

    fitted: Site
    split: Site
    name: str
    by_answers: bool


def fitted_on_all(index: Index) -> Iterator[FittedOnAll]:
    """The statistics of rows that are split further down in the same body."""
    encoders = tuple(cls.name for cls in index.classes if _encodes_by_answers(cls))
    for module in index.modules.values():
        source = module.source
        if is_test(source):
            continue
        for body in bodies(source.tree):
            nodes = [node for statement in body for node in own_below(statement)]
            splits = list(_splits(nodes))
            for fit, given, kept, by_answers in _fits(nodes, encoders) if splits else ():
                begun = _parted(nodes, given, fit)
                # Where all rows are fitted under a name of their own, it does not matter what comes first.
                whole = [node for node, name in splits if name == given and (given != kept or _is_fit(fit))]
                later = [node for node, name in splits if name in (kept, given) and _line(node) > _line(fit)]
                held = next(iter([*later, *whole]), None)
                if held is not None and not begun:
                    yield FittedOnAll(Site(source, fit), Site(source, held), given, by_answers)


def _splits(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Where rows are dealt out, each with the name of all of them."""
    cut: dict[str, set[str]] = {}
    for node in sorted(nodes, key=_line):
        match node:
            case ast.Call(args=[rows, *_]) if bare_name(node) == "train_test_split":
                name = _table(rows) or _counted(rows)
                if name and not any(
                    isinstance(one, ast.Name) and PARTED & set(words(one.id)) for one in node.args
                ):
                    yield node, name
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=False))
                yield from ((node, whole) for whole in _parted_in_two(pairs))
                for one, part in pairs:
                    match one, part:
                        case (
                            ast.Name(id=kept),
                            ast.Subscript(
                                value=ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="iloc"),
                                slice=ast.Slice(),
                            ),
                        ):
                            cut.setdefault(name, set()).update(words(kept))
                            if cut[name] & TRAINING and cut[name] & HELD_OUT:
                                yield node, name


def _is_fit(node: ast.AST) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and bare_name(value) == "fit"


def _parted_in_two(pairs: Sequence[tuple[ast.expr, ast.expr]]) -> Iterator[str]:
    """`past, future = rows[:cut], rows[cut:]`, cut at one computed place."""
    ends: dict[tuple[str, str], set[str]] = {}
    for _, part in pairs:
        match part:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=None, upper=ast.Name(id=cut))):
                ends.setdefault((name, cut), set()).add("head")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=ast.Name(id=cut), upper=None)):
                ends.setdefault((name, cut), set()).add("tail")
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Compare(left=left, ops=[operator], comparators=[cut])
            ) if side := SIDES.get(type(operator)):
                ends.setdefault((name, f"{ast.unparse(left)} at {ast.unparse(cut)}"), set()).add(side)
    yield from (name for (name, _), sides in ends.items() if len(sides) == 2)


def _table(node: ast.expr) -> str:
    """The name of what rows are of: `t`, `t[COLUMNS]`, `t.drop(columns="y").to_numpy()`."""
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Subscript(value=inner, slice=part) if not isinstance(part, ast.Slice | ast.Tuple):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in WHOLE_ROWS:
                node = inner
            case ast.Attribute(value=inner, attr="values"):
                node = inner
            case _:
                return ""


def _counted(node: ast.expr) -> str:
    """The table whose places are dealt out: `np.arange(len(t))`, `range(len(t))`, `t.index`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="index"):
            return name
        case ast.Call(args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])]):
            return name if bare_name(node) in {"arange", "range"} else ""
    return ""


def _encodes_by_answers(cls: Class) -> bool:
    """Whether a class keeps a mean of answers for each category: `fit` groups rows by it."""
    fit = cls.methods.get("fit")
    if fit is None:
        return False
    asked = {name for name in fit.parameters if TARGETS & set(words(name))}
    grouped = [
        one.slice
        for one in all_nodes(fit.node, ast.Subscript)
        if isinstance(one.value, ast.Call) and bare_name(one.value) == "groupby"
    ]
    return any(getattr(one, "id", "") in asked for one in grouped)


def _fits(
    nodes: Sequence[ast.AST], encoders: tuple[str, ...] = ()
) -> Iterator[tuple[ast.AST, str, str, bool]]:
    """Where statistics are taken: of which rows, which name is split then, and with the answers or not."""
    made = _made(nodes)
    means = _means(nodes)
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=kept)],
                value=ast.Call(
                    func=ast.Attribute(value=tool, attr="fit_transform"), args=[rows, *more]
                ) as call,
            ) if given := _table(rows):
                kind = bare_name(tool) if isinstance(tool, ast.Call) else made.get(ast.unparse(tool), "")
                if _may_leak(kind, given, encoders):
                    yield call, given, kept, bool(more) and kind in (*CHOOSERS, *encoders)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=given))], value=ast.Call() as call) if (
                _averages_answers(call, given, nodes)
            ):
                yield call, given, given, True
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=tool, attr="fit"), args=[rows, *more]))
                | ast.Assign(value=ast.Call(func=ast.Attribute(value=tool, attr="fit"), args=[rows, *more]))
            ) if given := _table(rows):
                kind = bare_name(tool) if isinstance(tool, ast.Call) else made.get(ast.unparse(tool), "")
                if _may_leak(kind, given, encoders):
                    yield node, given, given, bool(more) and kind in (*CHOOSERS, *encoders)
            case ast.Assign(
                targets=[ast.Name(id=kept)],
                value=ast.BinOp(
                    left=ast.BinOp(left=ast.Name(id=given), op=ast.Sub(), right=middle),
                    op=ast.Div(),
                    right=spread,
                ),
            ) if _may_leak("Scaler", given):
                if _is_of(middle, given, means) and _is_of(spread, given, means):
                    yield node, given, kept, False


def _averages_answers(value: ast.expr, table: str, nodes: Sequence[ast.AST]) -> bool:
    """`t["plan"].map(t.groupby("plan")["left"].mean())`, where `left` is what is to be predicted."""
    answers = {
        column
        for node in nodes
        if isinstance(node, ast.Assign)
        if any(TARGETS & set(words(name)) for one in node.targets if (name := getattr(one, "id", "")))
        for one in ast.walk(node.value)
        if (column := _column(one, table))
    }
    for node in ast.walk(value):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Call() as grouped, slice=part), attr=method)
            ):
                is_mean = method in {"mean", "transform", "agg", "sum"}
                is_of_table = ast.unparse(grouped).startswith(f"{table}.groupby(")
                if is_mean and is_of_table and getattr(part, "value", None) in answers:
                    return True
    return False


def _column(node: ast.AST, table: str) -> str:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as column)):
            return column if name == table else ""
        case ast.Attribute(value=ast.Name(id=name), attr=column):
            return column if name == table else ""
    return ""


def _made(nodes: Sequence[ast.AST]) -> dict[str, str]:
    return {
        node.targets[0].id: bare_name(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if isinstance(node.targets[0], ast.Name)
    }


def _may_leak(kind: str, given: str, encoders: tuple[str, ...] = ()) -> bool:
    spoken = set(words(given))
    return (kind.endswith(SCALERS + CHOOSERS) or kind in encoders) and not spoken & (PARTED | TARGETS)


def _means(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """The names that hold a statistic over all rows, by the name of the rows."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for one, statistic in pairs:
                if isinstance(one, ast.Name) and (rows := _statistic(statistic)):
                    found[one.id] = rows
    return found


def _is_of(node: ast.expr, given: str, means: dict[str, str]) -> bool:
    """Whether a number is a statistic of all rows; a small number may be added to it."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant()):
            return _is_of(left, given, means)
        case ast.Name(id=name):
            return means.get(name) == given
    return _statistic(node) == given


def _statistic(node: ast.expr) -> str:
    """The rows that a mean or deviation along the first axis is of: `X.mean(0)`, `np.std(X, axis=0)`."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant()):
            return _statistic(left)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=holder), attr="mean" | "std"), args=args):
            is_library = holder in {"np", "numpy", "torch"}
            rows = args[0].id if is_library and args and isinstance(args[0], ast.Name) else holder
            axes = [
                *args[int(is_library) :],
                *(one.value for one in node.keywords if one.arg in {"axis", "dim"}),
            ]
            return rows if all(isinstance(axis, ast.Constant) and axis.value == 0 for axis in axes) else ""
    return ""


def _parted(nodes: Sequence[ast.AST], name: str, fit: ast.AST) -> bool:
    """Whether rows were made by a split before they are fitted to, or stand in a loop over folds."""
    for node in nodes:
        if isinstance(node, ast.Assign) and _line(node) < _line(fit):
            kept = {
                one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
            }
            said = {word for inner in ast.walk(node.value) for word in _said(inner)}
            if name in kept and said & PARTED:
                return True
    return False


def _said(node: ast.AST) -> Sequence[str]:
    name = getattr(node, "id", getattr(node, "attr", getattr(node, "value", "")))
    return words(name) if isinstance(name, str) else ()


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
