"""Hooks of Lightning that end the training by what this rank alone has seen.

Lightning asks `trainer.should_stop` on each rank for itself. A hook that sets it by the outputs of its own
batches, or by its clock, ends some of the ranks before the others, unless they agree on it first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

BASES = ("Callback", "LightningModule")
OF_BATCHES = re.compile(r"^(?:on_\w+_batch_end|validation_step|training_step)$")
SEEN = frozenset({"outputs", "batch", "output", "out"})
CLOCKS = frozenset({"time.time", "time.monotonic", "time.perf_counter", "datetime.now"})
FILLING = frozenset({"append", "extend", "add", "update", "appendleft", "push"})
# What ranks agree by, or what Lightning has gathered: with one of these, nothing is said.
AGREEING = re.compile(r"reduce|gather|broadcast|callback_metrics|logged_metrics|\.compute\(|torchmetrics")
ROUNDS = 4  # of a value handed on from name to name


@dataclass(frozen=True, slots=True, eq=False)
class CallbackStop:
    """A condition under which a hook sets `should_stop`; `by_clock` where it asks for the time."""

    source: Source
    test: ast.expr
    by_clock: bool


def callback_stops(index: Index) -> tuple[CallbackStop, ...] | None:
    """The conditions that each rank answers for itself; None where no hook of Lightning stops several."""
    hooked = [
        cls
        for cls in index.classes
        if "should_stop" in cls.source.text and not is_test(cls.source) and _is_hooked(index, cls)
    ]
    sources = (source for source in index.program if "Trainer" in source.text)
    if not hooked or not any(map(_asks_for_several, sources)):
        return None
    return tuple(stop for cls in hooked for stop in _stops(index, cls))


def _is_hooked(index: Index, cls: Class) -> bool:
    return any(base.endswith(BASES) and "transformers" not in base for base in index.outside_bases(cls))


def _asks_for_several(source: Source) -> bool:
    """`Trainer(devices=4)`, `Trainer(devices=args.devices)`, `Trainer(strategy="ddp")`."""
    for node in all_nodes(source.tree):
        if not isinstance(node, ast.Call) or not (dotted(node.func) or "").endswith("Trainer"):
            continue
        for word in node.keywords:
            if word.arg in {"devices", "num_nodes", "gpus"}:
                given = word.value.value if isinstance(word.value, ast.Constant) else None
                if given not in {0, 1, "1"} and not (
                    isinstance(word.value, ast.List) and len(word.value.elts) < 2
                ):
                    return True
            if word.arg == "strategy" and re.search("ddp|fsdp|deepspeed", ast.unparse(word.value)):
                return True
    return False


def _stops(index: Index, cls: Class) -> Iterator[CallbackStop]:
    methods = list(
        {name: one for base in reversed(index.lineage(cls)) for name, one in base.methods.items()}.values()
    )
    if any(AGREEING.search(text) for text in _texts(index, methods)):
        return
    seen = _followed(methods, by_clock=False)
    timed = _followed(methods, by_clock=True)
    for method in methods:
        for node in all_nodes(method.node):
            if isinstance(node, ast.If) and any(map(_ends, node.body)):
                asked = _read(node.test, method)
                if asked & seen or asked & timed or _asks_clock(node.test):
                    yield CallbackStop(method.source, node.test, not asked & seen)


def _texts(index: Index, methods: list[Function]) -> Iterator[str]:
    """The methods as written, and the functions of the repository that they call."""
    for method in methods:
        yield ast.unparse(method.node)
        home = index.module_of(method.source)
        for node in all_nodes(method.node):
            target = index.resolve(home, dotted(node.func) or "") if isinstance(node, ast.Call) else None
            if isinstance(target, Function):
                yield ast.unparse(target.node)


def _ends(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Attribute(attr="should_stop")], value=ast.Constant(value=True)):
            return True
    return False


def _followed(methods: list[Function], by_clock: bool) -> set[str]:
    """The names that hold what a rank has seen, those of locals with their method before them."""
    found: set[str] = set()
    if not by_clock:
        hooks = (one for one in methods if OF_BATCHES.match(one.name))
        found = {f"{hook.name} {name}" for hook in hooks for name in SEEN & set(hook.parameters)}
    for _ in range(ROUNDS):
        before = len(found)
        for method in methods:
            _follow(method.node.body, method, found, by_clock, False)
        if len(found) == before:
            break
    return found


def _follow(
    statements: Sequence[ast.stmt], method: Function, found: set[str], by_clock: bool, under: bool
) -> None:
    """Mark what statements store of marked names, or under a condition on them."""
    for node in statements:
        _mark(node, method, found, by_clock, under)
        asks = isinstance(node, ast.If) and _is_marked(node.test, method, found, by_clock)
        for block in (getattr(node, "body", ()), getattr(node, "orelse", ())):
            if not isinstance(node, FunctionNode | ast.ClassDef):
                _follow(block, method, found, by_clock, under or asks)
        if asks and isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Continue):
            under = True  # what follows is done where the condition is not met


def _mark(node: ast.stmt, method: Function, found: set[str], by_clock: bool, under: bool) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            if under or _is_marked(value, method, found, by_clock):
                found.update(name for target in targets for name in _stored(target, method))
        case (
            ast.AugAssign(target=target, value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            if under or _is_marked(value, method, found, by_clock):
                found.update(_stored(target, method))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder, attr=name)) as call) if name in FILLING:
            if any(_is_marked(one, method, found, by_clock) for one in call.args):
                found.update(_read(holder, method))
        case ast.For(target=target, iter=over):
            if _is_marked(over, method, found, by_clock):
                found.update(_stored(target, method))


def _is_marked(node: ast.AST, method: Function, found: set[str], by_clock: bool) -> bool:
    return bool(_read(node, method) & found) or (by_clock and _asks_clock(node))


def _asks_clock(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and dotted(one.func) in CLOCKS for one in all_nodes(node))


def _read(node: ast.AST, method: Function) -> set[str]:
    """The names and own attributes in an expression."""
    found: set[str] = set()
    for one in all_nodes(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                found.add(f"self.{name}")
            case ast.Name(id=name) if name != "self":
                found.add(f"{method.name} {name}")
    return found


def _stored(target: ast.AST, method: Function) -> set[str]:
    """What an assignment stores; of `trainer.x = ...` nothing, whose owner is not the class's."""
    if isinstance(target, ast.Tuple | ast.List):
        return {name for one in target.elts for name in _stored(one, method)}
    if isinstance(target, ast.Subscript):
        return _stored(target.value, method)
    if isinstance(target, ast.Attribute) and dotted(target) != f"self.{target.attr}":
        return set()
    return _read(target, method)
