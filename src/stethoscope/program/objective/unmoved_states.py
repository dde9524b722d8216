"""What comes next, made of what was before, or kept and never read.

`next_states` taken from the states; `push(s, a, r, s, done)`; a memory that gives back `self.o[i]` twice.
What an environment gives for a step is known by its place, whatever it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.turned_averages import OF_ACTIONS
from stethoscope.program.spelling.unsettled import unsettled
from stethoscope.program.syntax import all_nodes, bodies, own_below
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

NEXT = frozenset({"next", "following", "later", "succ"})
ENDS = frozenset({"done", "dones", "terminal", "terminated", "ended", "finished", "last"})
STATES = frozenset({"state", "states", "obs", "observation", "observations"})


@dataclass(frozen=True, slots=True, eq=False)
class UnmovedState:
    """Where a next state is given, and the state that it is."""

    source: Source
    node: ast.AST
    name: str
    given: str
    is_unread: bool = False


def unmoved_states(index: Index) -> Iterator[UnmovedState]:
    """The next states of a program that are the states themselves."""
    acts = any(OF_ACTIONS.search(source.text) for source in index.program)
    for module in index.modules.values():
        if is_test(module.source):
            continue
        if ".step(" in module.source.text:
            for body in bodies(unsettled(module.source)):
                yield from _stepped_past(module.source, body)
        if not acts:
            continue
        for body in bodies(unsettled(module.source)):
            yield from _made_alike(module.source, body)
        yield from _kept_and_never_read(index, module.source)
        for call in all_nodes(unsettled(module.source), ast.Call):
            yield from _handed_alike(index, module.source, call)


def _made_alike(source: Source, body: Sequence[ast.stmt]) -> Iterator[UnmovedState]:
    """Two names of one body that are given the same, of which one is called the next."""
    made = [
        (name, node)
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if (name := (dotted(node.targets[0]) or "").rpartition(".")[2])
    ]
    for name, node in made:
        if not _is_next(name):
            continue
        for other, twin in made:
            is_same = ast.dump(twin.value) == ast.dump(node.value)
            if is_same and _bare(other) == _bare(name) and not _is_next(other) and _reads_a_part(node.value):
                yield UnmovedState(source, node, name, other)


def _kept_and_never_read(index: Index, source: Source) -> Iterator[UnmovedState]:
    """`self.o2[i] = o2` beside `self.o[i] = o`, of which only the second is ever read."""
    for cls in all_nodes(unsettled(source), ast.ClassDef):
        written: dict[str, ast.AST] = {}
        for node in all_nodes(cls, ast.Assign):
            match node.targets[0]:
                case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                    written.setdefault(name, node)
        followed = {name: other for name in written for other in written if _follows(name, other)}
        if not followed:
            continue
        read = set(_attributes_read(index))
        for name, other in followed.items():
            if name not in read and other in read:
                yield UnmovedState(source, written[name], name, other, is_unread=True)


def _follows(name: str, other: str) -> bool:
    """`o2` and `o`, `next_obs` and `obs`, `s_` and `s`."""
    bare = name.rstrip("2_")
    return name != other and (bare == other or (_is_next(name) and _bare(name) == frozenset(words(other))))


def _attributes_read(index: Index) -> Iterator[str]:
    for one in index.program:
        tree = unsettled(one)
        kept = {
            id(target.value)
            for node in all_nodes(tree, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Subscript)
        }
        for node in all_nodes(tree, ast.Attribute):
            if isinstance(node.ctx, ast.Load) and id(node) not in kept:
                yield node.attr
        yield from (str(node.value) for node in all_nodes(tree, ast.Constant) if isinstance(node.value, str))


def _handed_alike(index: Index, source: Source, call: ast.Call) -> Iterator[UnmovedState]:
    """A call that is handed one thing both as the state and as what follows it."""
    called = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    targets = index.functions_named(called)
    if len(targets) != 1:
        return
    bound = list(_bound(targets[0], call))
    if any(_ends(name, value) for name, value in bound):
        return
    handed = {name: value for name, value in bound if isinstance(value, ast.Name) and not _is_next(value.id)}
    for name, value in handed.items():
        for other, twin in handed.items() if _is_next(name) else ():
            if not _is_next(other) and _bare(other) == _bare(name) and ast.dump(twin) == ast.dump(value):
                yield UnmovedState(source, call, name, ast.unparse(value))


def _ends(name: str, value: ast.expr) -> bool:
    """Whether a call says that nothing follows, so that any state may stand for what does."""
    return bool(ENDS & set(words(name))) and isinstance(value, ast.Constant) and bool(value.value)


def _stepped_past(source: Source, body: Sequence[ast.stmt]) -> Iterator[UnmovedState]:
    """`s2, r, done, _ = env.step(act(s))`, and a memory that is handed `(s, a, r, s, done)`."""
    nodes = [node for statement in body for node in own_below(statement)]
    for step in nodes:
        match step:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=after), ast.Name(id=reward), *ends])],
                value=ast.Call(func=ast.Attribute(attr="step"), args=[action, *_]),
            ) if len(ends) in (2, 3):
                ended = {end.id for end in ends if isinstance(end, ast.Name)}
                seen = _names(*_made_of(nodes, action)) - {after, reward} - ended
            case _:
                continue
        for call in nodes:
            handed = [one.id for one in _handed(call) if isinstance(one, ast.Name)]
            if reward in handed and ended & set(handed) and after not in handed:
                for state in sorted(one for one in seen if handed.count(one) == 2):
                    yield UnmovedState(source, call, "what is handed on as next", state)


def _made_of(nodes: Sequence[ast.AST], value: ast.expr) -> Iterator[ast.AST]:
    """A value, and what it is given where it is a name: the action, and what was called for it."""
    yield value
    for node in nodes:
        if isinstance(node, ast.Assign) and _names(*node.targets) & _names(value):
            yield node.value


def _names(*nodes: ast.AST) -> set[str]:
    return {one.id for node in nodes for one in all_nodes(node, ast.Name)}


def _handed(call: ast.AST) -> Iterator[ast.expr]:
    """What a call is handed, one by one, in a row or by name."""
    if isinstance(call, ast.Call):
        for value in (*call.args, *(word.value for word in call.keywords)):
            yield from value.elts if isinstance(value, ast.Tuple | ast.List) else (value,)


def _bound(function: Function, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    names = [name for name in function.parameters if name not in {"self", "cls"}]
    yield from zip(names, call.args, strict=False)
    yield from ((word.arg, word.value) for word in call.keywords if word.arg is not None)


def _is_next(name: str) -> bool:
    spoken = set(words(name))
    return bool(spoken & NEXT) and bool(spoken & STATES)


def _bare(name: str) -> frozenset[str]:
    return frozenset(words(name)) - NEXT


def _reads_a_part(value: ast.expr) -> bool:
    """Whether something is taken out of a batch; two states may well begin with the same zeros."""
    return any(
        (isinstance(node, ast.Attribute) and set(words(node.attr)) & STATES)
        or (isinstance(node, ast.Subscript) and STATES & set(words(ast.unparse(node.slice).strip("'"))))
        for node in all_nodes(value)
    )
