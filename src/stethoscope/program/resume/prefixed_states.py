"""Weights that a load passes over without a word: their names have the prefix of a wrapper, or lack it.

DistributedDataParallel puts `module.` before the name of each weight, torch.compile `_orig_mod.`. What is
saved of the wrapper and loaded into the network itself with `strict=False` fits nowhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, External, dotted
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.checkpointing import Resumption, is_loaded, loaded_role
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.given_back import UNCHANGED
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Constant, Instance, Part, Site, Table, Value

PREFIXES = {"DistributedDataParallel": "module.", "DataParallel": "module.", "compile": "_orig_mod."}
INNER = ("module", "_orig_mod")  # by which a wrapper gives its network
WHOLE = ""  # the key of a file that holds one state and nothing else
DEEPEST = 6  # wrappers around a network


@dataclass(frozen=True, slots=True, eq=False)
class PrefixedState:
    """A load, the save that its state comes from, and what stands before the names on either side."""

    load: Call
    save: Site
    loaded: str
    saved: str


def prefixed_states(resumption: Resumption) -> Iterator[PrefixedState]:
    """The lenient loads of a resume whose names differ from the saved ones by the prefix of a wrapper."""
    trace = resumption.walk.trace
    kept = list(_saved(trace))
    for load in resumption.loads:
        strict = load.argument(1, "strict")
        if not (isinstance(strict, Constant) and strict.value is False):
            continue
        key, own = _key(trace.run, load), _prefix_of_receiver(trace, load)
        added = ""
        if key is None:
            key, added = _renamed_key(trace.run, load)
        if key is None or own is None or loaded_role(resumption.walk, load) is not Role.MODEL:
            continue
        saves = [(site, found) for name, site, found in kept if name == key]
        if saves and all(found is not None and added + found != own for _, found in saves):
            yield PrefixedState(load, saves[0][0], own, added + (saves[0][1] or ""))


def _saved(trace: Trace) -> Iterator[tuple[str, Site, str | None]]:
    """The states that the walk saves: the key, the place, and the prefix of their names."""
    taken = {id(one.site.node): one for one in trace.events if isinstance(one, Call)}
    for event in trace.events:
        if not isinstance(event, Call) or event.name != "save" or not event.args:
            continue
        for key, value in _entries(trace.run, event.args[0]):
            site = getattr(quietly(trace.run, value), "site", None)
            call = taken.get(id(site.node)) if site is not None else None
            if call is not None and call.name == "state_dict":
                yield key, call.site, _prefix_of_receiver(trace, call)


def _entries(run: Execution, written: Value) -> list[tuple[str, Value]]:
    written = quietly(run, written)
    if isinstance(written, Table):
        return [(str(key), value) for key, value in written.entries.items()]
    return [(WHOLE, written)]


def _key(run: Execution, load: Call) -> str | None:
    """The key under which a load finds its state in a file that was read as it is."""
    given = quietly(run, load.args[0]) if load.args else None
    if isinstance(given, Part) and isinstance(given.key, str):
        return given.key if is_loaded(quietly(run, given.base)) else None
    return WHOLE if given is not None and is_loaded(given) else None


def _renamed_key(run: Execution, load: Call) -> tuple[str | None, str]:
    """The key of a state whose names all get a beginning first: `{f"module.{n}": v for n, v in ..}`."""
    given = quietly(run, load.args[0]) if load.args else None
    made = _comprehension(load)
    added = _added(made) if made is not None else ""
    if not added or not isinstance(given, Table) or given.entries:
        return None, ""
    pieces = [one for rest in given.rest for one in ancestry(run, rest) if isinstance(one, Part)]
    keys = {one.key for one in pieces if isinstance(one.key, str) and is_loaded(quietly(run, one.base))}
    return (str(keys.pop()), added) if len(keys) == 1 else (None, "")


def _comprehension(load: Call) -> ast.DictComp | None:
    """The comprehension that a load is given, or the last one that its name was given in the function."""
    node = load.site.node
    if not isinstance(node, ast.Call) or not node.args:
        return None
    given: ast.expr | None = node.args[0]
    if isinstance(given, ast.Name):
        made = [
            one.value
            for one in _assignments(load)
            if one.lineno < node.lineno and any(ast.unparse(target) == given.id for target in one.targets)
        ]
        given = made[-1] if made else None
    return given if isinstance(given, ast.DictComp) else None


def _assignments(load: Call) -> Sequence[ast.Assign]:
    if load.within:
        return own_nodes(load.within[-1].node, ast.Assign)
    return all_nodes(load.site.source.tree, ast.Assign)


def _added(made: ast.DictComp) -> str:
    """What a comprehension writes before every name that it takes over; "" where it does something else."""
    match made.generators:
        case [ast.comprehension(target=ast.Tuple(elts=[ast.Name(id=name), _]), ifs=[])]:
            pass
        case _:
            return ""
    match made.key:
        case ast.JoinedStr(
            values=[ast.Constant(value=str(added)), ast.FormattedValue(value=ast.Name(id=written))]
        ) if written == name:
            return added
        case ast.BinOp(left=ast.Constant(value=str(added)), op=ast.Add(), right=ast.Name(id=written)) if (
            written == name
        ):
            return added
    return ""


# What is wrapped: by the assignments before, or by what the walk found


def _prefix_of_receiver(trace: Trace, call: Call) -> str | None:
    node = call.site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    found = _prefix(trace, node.func.value, call, DEEPEST)
    is_bare = call.receiver is not None and isinstance(quietly(trace.run, call.receiver), Instance)
    if found is None and is_bare and not _wraps(trace):
        return ""
    return found


def _wraps(trace: Trace) -> bool:
    """Whether anything in the program is wrapped: then an object may be the inside of a wrapper."""
    return any(f"{name}(" in source.text for source in trace.run.index.program for name in PREFIXES)


def _prefix(trace: Trace, node: ast.expr, at: Event, depth: int) -> str | None:
    """What stands before the names of a network's weights where it is used; None where it is not known."""
    if depth == 0:
        return None
    match node:
        case ast.Attribute(value=base, attr=name) if name in INNER:
            whole = _prefix(trace, base, at, depth - 1)
            is_wrapped = whole is not None and whole.startswith(f"{name}.")
            return whole.removeprefix(f"{name}.") if whole is not None and is_wrapped else None
        case ast.Call(args=[inner, *_]) if own := _of_wrapper(trace, node, at):
            rest = _prefix(trace, inner, at, depth - 1)
            return own + rest if rest is not None else None
        case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in UNCHANGED:
            return _prefix(trace, base, at, depth - 1)
        case ast.Call():
            return "" if _is_network(trace, node, at) else None
        case ast.Name() | ast.Attribute():
            made = _last_assignment(trace, node, at)
            if made is None or not isinstance(made.site.node, ast.expr):
                return None
            return _prefix(trace, made.site.node, made, depth - 1)
    return None


def _last_assignment(trace: Trace, node: ast.expr, at: Event) -> Assignment | None:
    """What was written last to a name or an attribute; none where that happened under a condition."""
    written = dotted(node)
    found: Assignment | None = None
    for event in trace.events:
        if event is at:
            break
        if isinstance(event, Assignment) and dotted(event.target) == written and _is_same_home(event, at):
            found = event
    if found is None:
        return None
    around = {id(scope) for scope in at.scopes()}
    is_certain = all(id(scope) in around for scope in found.scopes() if scope.kind == "if")
    return found if is_certain else None


def _is_same_home(event: Assignment, at: Event) -> bool:
    """Whether a name means the same: in one function, or an attribute in the methods of one class."""
    if isinstance(event.target, ast.Name):
        return event.within == at.within
    homes = [one.within[-1].owner if one.within else None for one in (event, at)]
    return event.within == at.within or (homes[0] is not None and homes[0] is homes[1])


def _of_wrapper(trace: Trace, call: ast.Call, at: Event) -> str:
    """The prefix that a wrapper puts before the names, "" for all other calls."""
    target = _called(trace, call, at)
    home, _, last = target.name.rpartition(".") if isinstance(target, External) else ("", "", "")
    return PREFIXES.get(last, "") if home.startswith("torch") else ""


def _is_network(trace: Trace, call: ast.Call, at: Event) -> bool:
    """Whether a call makes a network as it is: what a function gives back may be wrapped."""
    target = _called(trace, call, at)
    return isinstance(target, Class) or (isinstance(target, External) and target.name.startswith("torch.nn."))


def _called(trace: Trace, call: ast.Call, at: Event) -> object:
    index = trace.run.index
    return index.resolve(index.module_of(at.site.source), dotted(call.func) or "")
