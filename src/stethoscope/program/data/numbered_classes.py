"""Classes that are numbered once for training and once more for held-out data.

y_train = LabelEncoder().fit_transform(train.word); y_dev = LabelEncoder().fit_transform(dev.word)
class Clips(Dataset): self.number = {word: i for i, word in enumerate(rows.word.unique())}
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

ENCODERS = frozenset({"LabelEncoder", "OrdinalEncoder", "LabelBinarizer", "MultiLabelBinarizer"})
# Orders in which values were met, which two sets of rows have differently.
FOLDERS = frozenset({"listdir", "scandir", "iterdir", "glob", "walk"})
BY_APPEARANCE = frozenset({"unique", "factorize", "set", "Counter", "fromkeys", "value_counts"})


@dataclass(frozen=True, slots=True, eq=False)
class NumberedApart:
    """Where classes are numbered for training and for held-out data."""

    trained: Site
    judged: Site
    what: str


@remembered
def numbered_apart(index: Index) -> tuple[NumberedApart, ...]:
    """Every pair of numberings of a program that need not agree."""
    found: list[NumberedApart] = []
    for function in index.bodies:
        if not is_test(function.source):
            found.extend(_fitted_twice(function))
            found.extend(_numbered_twice(index, function))
    for cls in index.classes:
        if not is_test(cls.source):
            found.extend(_by_each_object(index, cls))
    return tuple(found)


# --- two fits in one body


def _fitted_twice(function: Function) -> Iterator[NumberedApart]:
    made = {
        ast.unparse(node.targets[0]): bare_name(node.value)
        for node in own_nodes(function.node, ast.Assign)
        if isinstance(node.value, ast.Call) and bare_name(node.value) in ENCODERS
    }
    calls = [(call, _said(call, made)) for call in own_nodes(function.node, ast.Call) if _numbers(call, made)]
    calls = sorted(calls, key=lambda one: one[0].lineno)
    trained = next((call for call, said in calls if said & TRAINING and not said & HELD_OUT), None)
    for call, said in calls:
        if trained is not None and said & HELD_OUT and not said & TRAINING:
            yield NumberedApart(
                Site(function.source, trained), Site(function.source, call), ast.unparse(call)
            )
            return


def _numbered_twice(index: Index, function: Function) -> Iterator[NumberedApart]:
    """`numbers(train)` and `numbers(dev)`, of a function that numbers what it is given."""
    module = index.module_of(function.source)
    told = {
        name: {*words(name), *_words(value)}
        for node in own_nodes(function.node, ast.Assign)
        for name, value in _given(node)
    }
    asked: dict[str, list[tuple[ast.Call, set[str]]]] = {}
    for call in sorted(own_nodes(function.node, ast.Call), key=lambda one: (one.lineno, one.col_offset)):
        target = index.resolve(module, ast.unparse(call.func)) if isinstance(call.func, ast.Name) else None
        if len(call.args) == 1 and isinstance(target, Function) and _gives_numbers(target):
            name = getattr(call.args[0], "id", "")
            said = told.get(name) or set(_words(call.args[0]))
            asked.setdefault(target.name, []).append((call, said))
    for calls in asked.values():
        trained = next((call for call, said in calls if said & TRAINING and not said & HELD_OUT), None)
        judged = next((call for call, said in calls if said & HELD_OUT and not said & TRAINING), None)
        if trained is not None and judged is not None:
            yield NumberedApart(
                Site(function.source, trained), Site(function.source, judged), ast.unparse(judged)
            )


def _given(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def _gives_numbers(function: Function) -> bool:
    """Whether a function returns numbers for what it finds in its one argument; folders are alike for all."""
    if len(function.parameters) < 1 or FOLDERS & {bare_name(c) for c in own_nodes(function.node, ast.Call)}:
        return False
    for node in own_nodes(function.node, ast.Return):
        for table in all_nodes(node, ast.DictComp):
            over = table.generators[0].iter
            is_counted = isinstance(over, ast.Call) and bare_name(over) == "enumerate"
            numbers = {one.id for one in all_nodes(table.generators[0].target, ast.Name)}
            if is_counted and numbers & {one.id for one in all_nodes(table.value, ast.Name)}:
                return True
    return False


def _numbers(call: ast.Call, made: dict[str, str]) -> bool:
    """`encoder.fit_transform(words)`, `pd.factorize(words)`, `words.factorize()`."""
    name = bare_name(call)
    if name == "factorize":
        return True
    if name != "fit_transform" or not isinstance(call.func, ast.Attribute):
        return False
    tool = call.func.value
    return (bare_name(tool) if isinstance(tool, ast.Call) else made.get(ast.unparse(tool), "")) in ENCODERS


def _said(call: ast.Call, made: dict[str, str]) -> set[str]:
    given: list[ast.AST] = [*call.args]
    if bare_name(call) == "factorize" and isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    return {word for node in given for word in _words(node)}


def _words(node: ast.AST) -> Iterator[str]:
    for one in all_nodes(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                yield from words(name)


# --- one numbering for each object


def _by_each_object(index: Index, cls: Class) -> Iterator[NumberedApart]:
    """A data set that numbers the classes of its own rows as they come, made for both kinds of rows."""
    init = cls.methods.get("__init__")
    if init is None or "__getitem__" not in cls.methods:
        return
    numbering = next(_own_numberings(init), None)
    if numbering is None:
        return
    made = [call for module in index.modules.values() for call in _made(module.source.tree, cls.name)]
    parts = [(call, {word for one in (*call.args, *call.keywords) for word in _words(one)}) for call in made]
    trained = next((call for call, said in parts if said & TRAINING and not said & HELD_OUT), None)
    judged = next((call for call, said in parts if said & HELD_OUT and not said & TRAINING), None)
    if trained is not None and judged is not None and not _is_told(trained, judged):
        site = Site(cls.source, numbering)
        yield NumberedApart(site, site, ast.unparse(numbering))


def _own_numberings(init: Function) -> Iterator[ast.AST]:
    """`{word: i for i, word in enumerate(rows.word.unique())}` and `pd.factorize(rows.word)`."""
    for table in own_nodes(init.node, ast.DictComp):
        over = table.generators[0].iter
        if isinstance(over, ast.Call) and bare_name(over) == "enumerate" and over.args:
            called = {bare_name(one) for one in all_nodes(over.args[0], ast.Call)}
            if called & BY_APPEARANCE and not called & {"sorted", "sort"} and _is_label(over.args[0]):
                yield table
    for call in own_nodes(init.node, ast.Call):
        if bare_name(call) == "factorize" and _is_label(call) and not _sorts(call):
            yield call


def _sorts(call: ast.Call) -> bool:
    return any(word.arg == "sort" for word in call.keywords)


def _is_label(node: ast.AST) -> bool:
    labels = {
        "label",
        "labels",
        "class",
        "classes",
        "target",
        "targets",
        "y",
        "category",
        "categories",
        "word",
    }
    labels |= {"tag", "tags", "species", "intent", "diagnosis", "genre", "emotion", "speaker", "name"}
    return bool(labels & set(_words(node)))


def _made(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    return (call for call in all_nodes(tree, ast.Call) if bare_name(call) == name)


def _is_told(trained: ast.Call, judged: ast.Call) -> bool:
    """Whether the held-out set is handed more than the training set: the numbering of that, it may be."""
    return len(judged.args) + len(judged.keywords) > len(trained.args) + len(trained.keywords)
