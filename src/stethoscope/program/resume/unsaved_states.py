"""States of an optimizer that a resume asks a checkpoint for, under a key that the program never saves.

    if "optim" in checkpoint: optimizer.load_state_dict(checkpoint["optim"])

where the checkpoints of the same program hold it as "optimizer", or not at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import Index
from stethoscope.program.loop.roles import Role, role_by_name
from stethoscope.program.remembered import remembered
from stethoscope.program.resume.checkpointing import Resumption, loaded_role
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Constant, Part, Site, Value


@dataclass(frozen=True, slots=True, eq=False)
class UnsavedState:
    """Where a state is asked for, under which key, and where the program saves its checkpoints.

    `saved_as` is the key under which such a state is saved, "" where none is.
    """

    load: Call
    key: str
    saved: Site
    saved_as: str


@dataclass(frozen=True, slots=True)
class SavedKeys:
    """The keys under which a program saves states, each with a place; `are_all` unless some are made up."""

    places: dict[str, Site]
    are_all: bool


def unsaved_states(index: Index, resumption: Resumption) -> Iterator[UnsavedState]:
    """The optimizers whose state comes from a key that no checkpoint of the program has."""
    saved = saved_keys(index)
    pieces = [(call, _piece(resumption.walk, call)) for call in resumption.loads]
    for call, asked in pieces:
        if asked is None or loaded_role(resumption.walk, call) is not Role.OPTIMIZER:
            continue
        home, key = asked
        beside = [other[1] for _, other in pieces if other is not None and other[0] is home]
        known = next((one for one in beside if one in saved.places), None)
        if key in saved.places or known is None or not saved.are_all or not _is_restored(pieces, key):
            continue
        other = next((one for one in saved.places if role_by_name(one) is Role.OPTIMIZER), "")
        yield UnsavedState(call, key, saved.places[other or known], other)


def _is_restored(pieces: list[tuple[Call, tuple[Value, str] | None]], key: str) -> bool:
    """Whether no other load gives the same object its state."""
    receivers = [id(call.receiver) for call, asked in pieces if asked is not None and asked[1] == key]
    return all(
        asked is None or asked[1] == key or id(call.receiver) not in receivers for call, asked in pieces
    )


def _piece(walk: Walk, call: Call) -> tuple[Value, str] | None:
    """The checkpoint that a state is taken out of, and the key: `state["optim"]`, `state.get("optim")`."""
    given = quietly(walk.trace.run, call.args[0]) if call.args else None
    match given:
        case Part(base=base, key=str() as key):
            return base, key
        case Applied(callee=".get", args=(base, Constant(value=str() as key), *_)):
            return base, key
    return None


@remembered
def saved_keys(index: Index) -> SavedKeys:
    """Every key under which something's `state_dict()` is put into a table."""
    places: dict[str, Site] = {}
    are_all = True
    for source in index.program:
        if "state_dict" not in source.text:
            continue
        for node in all_nodes(source.tree):
            match node:
                case ast.Dict(keys=keys, values=values):
                    is_kept = any(_is_state(value) for value in values)
                    for key in keys if is_kept else ():
                        if isinstance(key, ast.Constant):
                            places.setdefault(str(key.value), Site(source, key))
                        else:
                            are_all = False
                case ast.DictComp(value=value) if _is_state(value):
                    are_all = False
                case ast.Assign(targets=[ast.Subscript(slice=key)], value=value) if _is_state(value):
                    if isinstance(key, ast.Constant):
                        places.setdefault(str(key.value), Site(source, key))
                    else:
                        are_all = False
                case ast.Call(keywords=words) if any(_is_state(word.value) for word in words):
                    for word in words:
                        if word.arg is not None:
                            places.setdefault(word.arg, Site(source, word.value))
    return SavedKeys(places, are_all)


def _is_state(node: ast.AST) -> bool:
    """Whether an expression takes the state of something."""
    return any(
        isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") == "state_dict"
        for inner in all_nodes(node)
    )
