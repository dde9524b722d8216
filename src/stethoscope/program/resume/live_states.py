"""States of a network that another thread writes while training goes on changing them.

threading.Thread(target=torch.save, args=(model.state_dict(), path)).start()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

COPYING = ("deepcopy", "clone", ".cpu()", "numpy()", ".to(")
WRITING = frozenset({"save", "write", "dump", "checkpoint", "store", "persist"})


@remembered
def live_states(index: Index) -> tuple[Site, ...]:
    """Where a thread is handed weights that nobody copied, to write them."""
    return tuple(
        site
        for function in index.bodies
        if "state_dict" in function.source.text and not is_test(function.source)
        for site in _in_function(function)
    )


def _in_function(function: Function) -> Iterator[Site]:
    for call in own_nodes(function.node, ast.Call):
        given = _handed_to_thread(call)
        if given is None or _is_waited_for(function, call):
            continue
        for one in given:
            named = [value for name in all_nodes(one, ast.Name) for value in _assigned(function, name)]
            if any(_is_live(value) for value in (one, *named)):
                yield Site(function.source, call)
                return


def _handed_to_thread(call: ast.Call) -> list[ast.expr] | None:
    """What a thread or an executor gets to write; processes get copies by themselves."""
    name = bare_name(call)
    told = {word.arg: word.value for word in call.keywords}
    if name == "Thread" and _writes(told.get("target")):
        args = told.get("args")
        return list(args.elts) if isinstance(args, ast.Tuple | ast.List) else None
    if name in {"submit", "to_thread", "apply_async", "run_in_executor"} and call.args:
        at = next((place for place, one in enumerate(call.args) if _writes(one)), None)
        return call.args[at + 1 :] if at is not None else None
    return None


def _writes(target: ast.expr | None) -> bool:
    name = (dotted(target) or "").rpartition(".")[2] if target is not None else ""
    return any(word in name.lower() for word in WRITING)


def _is_live(value: ast.expr) -> bool:
    """Whether an expression holds `model.state_dict()` as it is."""
    calls = [one for one in all_nodes(value, ast.Call) if bare_name(one) == "state_dict"]
    text = ast.unparse(value)
    return bool(calls) and not any(word in text for word in COPYING)


def _assigned(function: Function, node: ast.expr) -> list[ast.expr]:
    """What a name is given in the function."""
    name = dotted(node)
    if name is None:
        return []
    values = [one.value for one in own_nodes(function.node, ast.Assign) if dotted(one.targets[0]) == name]
    return values if len(values) == 1 else []


def _is_waited_for(function: Function, call: ast.Call) -> bool:
    """Whether the function waits for the thread at once."""
    return any(
        isinstance(one.func, ast.Attribute)
        and one.func.attr in {"join", "result"}
        and one.lineno > call.lineno
        for one in own_nodes(function.node, ast.Call)
    )
