"""Returns and advantages that are summed up from the first step to the last.

What an action is worth is what comes after it: `R = r + gamma * R` has to go from the last step to the first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

DISCOUNTS = frozenset({"gamma", "discount", "discounts", "lam", "lambda", "lmbda", "gae"})
REWARDS = frozenset({"reward", "rewards", "rew", "rews", "r", "delta", "deltas", "td", "tds", "rs"})
# A running scale of rewards is meant to go with time.
RUNNING = frozenset({"filter", "normalize", "normalizer", "running", "scaler", "env", "wrapper", "trace"})


@dataclass(frozen=True, slots=True, eq=False)
class ForwardReturn:
    """A recursion over the steps, and the loop that goes through them in their order."""

    source: Source
    sum: ast.Assign
    loop: ast.For
    name: str


def forward_returns(index: Index) -> Iterator[ForwardReturn]:
    """The recursions of discounted sums whose loop begins at the first step."""
    for function in index.bodies:
        if is_test(function.source) or RUNNING & set(words(function.spoken)):
            continue
        for loop in own_nodes(function.node, ast.For):
            if _is_backwards(function, loop.iter):
                continue
            for node in loop.body:
                name = _recursion(node)
                if _counts_from_the_end(loop):
                    continue
                if name and isinstance(node, ast.Assign) and _is_kept(function, loop, name):
                    yield ForwardReturn(function.source, node, loop, name)


def _is_backwards(function: Function, iterated: ast.expr) -> bool:
    """Whether steps are gone through from the last one; anything that may be so counts."""
    text = ast.unparse(iterated)
    if any(mark in text for mark in ("reversed", "[::-1]", "flip", "- 1, -1", "-1, -1", "sorted", "while")):
        return True
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[_]):
            return False
        case ast.Call(func=ast.Name(id="range")):
            return len(iterated.args) == 3
        case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=args):
            return any(_is_backwards(function, one) for one in args)
        case ast.Name(id=name):
            given = [one.value for one in own_nodes(function.node, ast.Assign) if _sets(one, name)]
            return any(not isinstance(one, ast.Name) and _is_backwards(function, one) for one in given)
    # Only what is plainly called rewards is known to be in order.
    last = (dotted(iterated) or "").rpartition(".")[2]
    return not REWARDS & set(words(last))


def _counts_from_the_end(loop: ast.For) -> bool:
    """`k = len(r) - i - 1`, `r[-i]`, `r[~i]`: a place that falls while the loop's own number rises."""
    counted = {one.id for one in all_nodes(loop.target, ast.Name)}
    for node in (one for statement in loop.body for one in all_nodes(statement)):
        match node:
            case ast.BinOp(op=ast.Sub(), right=ast.Name(id=name)) if name in counted:
                return True
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=inner):
                if any(one.id in counted for one in all_nodes(inner, ast.Name)):
                    return True
            case ast.BinOp(op=ast.Sub(), right=ast.BinOp(op=ast.Add()) as inner):
                if any(one.id in counted for one in all_nodes(inner, ast.Name)):
                    return True
    return False


def _sets(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _recursion(node: ast.stmt) -> str:
    """`R` of `R = r + gamma * R`, with a discount on what was summed before."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add(), left=left, right=right)):
            for new, old in ((left, right), (right, left)):
                is_old = isinstance(old, ast.BinOp) and isinstance(old.op, ast.Mult) and _speaks(old, name)
                if is_old and DISCOUNTS & _spoken(old) and REWARDS & _spoken(new) and not _speaks(new, name):
                    return name
    return ""


def _speaks(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in all_nodes(node))


def _spoken(node: ast.AST) -> set[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in all_nodes(node))
    return {word for name in names if isinstance(name, str) for word in (*words(name), name.lower())}


def _is_kept(function: Function, loop: ast.For, name: str) -> bool:
    """Whether the sum of each step is kept for it, and the list is not turned round afterwards."""
    kept = False
    for node in (one for statement in loop.body for one in all_nodes(statement)):
        match node:
            case ast.Assign(targets=[ast.Subscript()], value=value) if _speaks(value, name):
                kept = True
            case ast.Call(func=ast.Attribute(attr="append"), args=[value]) if _speaks(value, name):
                kept = True
    text = ast.unparse(function.node)
    is_turned = any(mark in text for mark in ("[::-1]", ".reverse()", "reversed(", ".flip(", "flipud"))
    return kept and not is_turned
