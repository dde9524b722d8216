"""Hooks that take the states out of a checkpoint that a framework would have restored."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.resume.checkpointing import OTHER_PURPOSES
from stethoscope.program.settings.mentions import text_of
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# What a hook gets the checkpoint in, by its name, and what of it holds states.
HOOKS = frozenset({"on_load_checkpoint", "on_save_checkpoint"})
OPTIMIZER, SCHEDULE = "optimizer_states", "lr_schedulers"
# What a Hugging Face Trainer restores these states by.
RESTORING = {
    "_load_optimizer_and_scheduler": (OPTIMIZER, SCHEDULE),
    "_save_optimizer_and_scheduler": (OPTIMIZER, SCHEDULE),
}
CHECKPOINT_OPTIONS = frozenset({"ckpt_path", "resume_from_checkpoint"})
BASES = frozenset({"LightningModule", "Callback", "LightningDataModule", "Checkpoint"})


@dataclass(frozen=True, slots=True, eq=False)
class DroppedState:
    """A state that a hook drops, and where the program resumes."""

    state: str
    dropped: Site
    hook: Function
    resumed: Site


@remembered
def dropped_states(index: Index) -> tuple[DroppedState, ...]:
    """Every state that a hook drops in a program that resumes from checkpoints."""
    resumed = next(_resumes(index), None)
    if resumed is None:
        return ()
    found: dict[tuple[int, str], DroppedState] = {}
    for cls in index.classes:
        if is_test(cls.source):
            continue
        for hook, state, node in _drops(index, cls):
            site = Site(cls.source, node)
            found.setdefault((id(hook.node), state), DroppedState(state, site, hook, resumed))
    return tuple(found.values())


def _resumes(index: Index) -> Iterator[Site]:
    """The calls that are told a checkpoint to go on from."""
    for module in index.modules.values():
        if is_test(module.source) or not any(name in module.source.text for name in CHECKPOINT_OPTIONS):
            continue
        for node in all_nodes(module.source.tree, ast.Call):
            if isinstance(node, ast.Call) and any(_is_told(word) for word in node.keywords):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in {"fit", "train", "Trainer"}:
                    yield Site(module.source, node)


def _is_told(word: ast.keyword) -> bool:
    is_none = isinstance(word.value, ast.Constant) and word.value.value in {None, False}
    return word.arg in CHECKPOINT_OPTIONS and not is_none


def _drops(index: Index, cls: Class) -> Iterator[tuple[Function, str, ast.AST]]:
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    if OTHER_PURPOSES & set(words(cls.name)):
        return
    for name in HOOKS & cls.methods.keys() if bases & BASES else ():
        hook = cls.methods[name]
        for state, node in _dropped_in(hook.node.body, hook.parameters[-1:]):
            yield hook, state, node
    for name in RESTORING.keys() & cls.methods.keys():
        hook = cls.methods[name]
        if any(base.endswith("Trainer") for base in bases) and _does_nothing(hook):
            yield hook, RESTORING[name][0], hook.node


def _dropped_in(body: Sequence[ast.stmt], holders: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """The states that are always dropped: by `pop`, `del` or an empty list in their place."""
    for statement in body:
        if isinstance(statement, ast.If) and _asks_for_key(statement.test) and not statement.orelse:
            yield from _dropped_in(statement.body, holders)
        for key in _dropped_by(statement, holders):
            if key in {OPTIMIZER, SCHEDULE}:
                yield key, statement


def _asks_for_key(test: ast.expr) -> bool:
    """`if "optimizer_states" in checkpoint`: there is always something there on a resume."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In)


def _dropped_by(statement: ast.stmt, holders: Sequence[str]) -> Iterator[str | None]:
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[key, *_])
        ) if name in holders:
            yield text_of(key)
        case ast.Delete(targets=targets):
            for target in targets:
                yield _key_of(target, holders)
        case ast.Assign(targets=[target], value=ast.List(elts=[]) | ast.Dict(keys=[])):
            yield _key_of(target, holders)


def _key_of(target: ast.expr, holders: Sequence[str]) -> str | None:
    match target:
        case ast.Subscript(value=ast.Name(id=name), slice=key) if name in holders:
            return text_of(key)
    return None


def _does_nothing(hook: Function) -> bool:
    """Whether a method leaves out what it stands for: nothing in it but a message."""
    calls = all_nodes(hook.node, ast.Call)
    named = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
    return named <= {"print", "info", "warning", "debug", "log"}
