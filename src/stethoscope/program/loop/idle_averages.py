"""Averages of weights whose update reaches nothing: a copy that is dropped, the average itself, or no name.

An average is drawn after a network by a loop over the weights of both. It stays what it is where the side
that is written to is a copy made for the loop, where both sides are the same network, or where the weights
are looked up by names that the other side does not have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.loop.thrown_updates import HOLDS_WEIGHTS
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.run import Program, Source

BLENDING = frozenset({"mul_", "lerp_", "add_", "copy_", "sub_"})
COPYING = frozenset({"deepcopy", "clone", "copy"})
PREFIXES = ("module.", "_orig_mod.")  # what wrappers put before the names of weights
# What puts them there.
_WRAPPING = re.compile(
    r"DataParallel|\bDDP\b|FSDP|fully_shard|AveragedModel|\bcompile\(|[Aa]ccelerat|deepspeed|[Ll]ightning|"
    r"self\.(module|_orig_mod)\s*=|horovod|fairscale|apex"
)


@dataclass(frozen=True, slots=True, eq=False)
class IdleAverage:
    """A loop that means to move an average, and why it does not."""

    source: Source
    node: ast.AST
    why: str


def idle_averages(program: Program) -> Iterator[IdleAverage]:
    """Every such loop of the source."""
    # What only offers an average to others may be given a network that is wrapped.
    may_wrap = not any("backward(" in source.text for source in program)
    is_wrapped = may_wrap or any(_WRAPPING.search(source.text) for source in program)
    for source in program:
        if not any(f".{name}(" in source.text for name in HOLDS_WEIGHTS):
            continue
        for function in all_nodes(source.tree):
            if not isinstance(function, FunctionNode):
                continue
            for loop in all_nodes(function):
                if isinstance(loop, ast.For) and _blended(loop):
                    why = _dropped(loop) or ("" if is_wrapped else _unnamed(function, loop))
                    if why:
                        yield IdleAverage(source, loop.iter, why)


def _blended(loop: ast.For) -> set[str]:
    """The names of the loop, or of what is looked up in it, that are mixed with others in place."""
    found: set[str] = set()
    for node in all_nodes(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in BLENDING or not _speaks_of_decay(loop):
            continue
        root: ast.expr = node.func.value
        while isinstance(root, ast.Call | ast.Attribute | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name):
            found.add(root.id)
    return found


def _speaks_of_decay(loop: ast.For) -> bool:
    """Whether the rest of one is taken: `1 - decay`, or a weight is drawn by `lerp_`."""
    for node in all_nodes(loop):
        match node:
            case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0)):
                return True
            case ast.Attribute(attr="lerp_"):
                return True
    return False


# The side that is written to


def _dropped(loop: ast.For) -> str:
    """Why nothing is left of what a loop over the weights of two networks writes."""
    sides = _sides(loop)
    written = _blended(loop)
    names = [name for name, _ in sides]
    if len(sides) != 2 or sum(name in written for name in names) != 1:
        return ""
    own = next(owner for name, owner in sides if name in written)
    other = next(owner for name, owner in sides if name not in written)
    if ast.unparse(own) == ast.unparse(other):
        return f"{ast.unparse(own)} is drawn after itself"
    called = {(dotted(one.func) or "").rpartition(".")[2] for one in all_nodes(own, ast.Call)}
    return f"what is moved is a copy, {ast.unparse(own)}, which nothing keeps" if called & COPYING else ""


def _sides(loop: ast.For) -> list[tuple[str, ast.expr]]:
    """The name of each side of `for mean, weight in zip(a.parameters(), b.parameters())`, and its network."""
    given = loop.iter
    if (
        not isinstance(given, ast.Call)
        or dotted(given.func) != "zip"
        or not isinstance(loop.target, ast.Tuple)
    ):
        return []
    found: list[tuple[str, ast.expr]] = []
    for target, one in zip(loop.target.elts, given.args, strict=False):
        named = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
        while isinstance(one, ast.Call) and not isinstance(one.func, ast.Attribute) and one.args:
            one = one.args[0]  # list(net.parameters())
        if not isinstance(named, ast.Name) or not isinstance(one, ast.Call):
            return []
        if not isinstance(one.func, ast.Attribute) or one.func.attr not in HOLDS_WEIGHTS:
            return []
        found.append((named.id, one.func.value))
    return found


# The names by which weights are looked up


def _unnamed(function: ast.AST, loop: ast.For) -> str:
    """Why no weight is found: a name with the prefix of a wrapper, where there is no wrapper."""
    prefix = next((one for node in all_nodes(function) if (one := _prefix(node))), "")
    if not prefix or prefix.rstrip(".") in _replaced(function):
        return ""
    is_guarded = any(_asks_for_name(node) for node in all_nodes(loop))
    if not is_guarded or not _is_over_names(loop):
        return ""
    return f"names that begin with {prefix!r} are looked for, and nothing here puts that before a name"


def _prefix(node: ast.AST) -> str:
    """The `module.` of f"module.{name}" and of "module." + name."""
    match node:
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), ast.FormattedValue()]):
            return text if text in PREFIXES else ""
        case ast.BinOp(op=ast.Add(), left=ast.Constant(value=str() as text), right=ast.Name()):
            return text if text in PREFIXES else ""
    return ""


def _replaced(function: ast.AST) -> set[str]:
    """Prefixes that are taken away or asked about, which tells of networks that may have them."""
    asking = {"replace", "startswith", "removeprefix", "lstrip", "split"}
    calls = all_nodes(function, ast.Call)
    asked = [call for call in calls if getattr(call.func, "attr", "") in asking]
    given = (arg.value for call in asked for arg in call.args if isinstance(arg, ast.Constant))
    return {value.rstrip(".") for value in given if isinstance(value, str)}


def _asks_for_name(node: ast.AST) -> bool:
    """`if name in weights`, `weights.get(name, weight)`: a name that is not there raises nothing."""
    match node:
        case ast.Compare(ops=[ast.In()]):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, _]):
            return True
    return False


def _is_over_names(loop: ast.For) -> bool:
    named = (node for node in all_nodes(loop.iter, ast.Attribute))
    return any(node.attr in {"named_parameters", "state_dict", "items"} for node in named)
