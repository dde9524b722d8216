"""A statement names a method and does not call it.

## What it checks
Statements that are an attribute and nothing more, `optimizer.zero_grad` or `scheduler.step`: whether the
attribute is a method of torch's training loops, or one that a class of the program defines.

## Why it matters
Without parentheses Python looks the method up and forgets it. Gradients are never cleared, the weights or the
rate never move, or the network is measured with its dropout active, and nothing says so.

## When it is harmless
In a `try` such a statement asks whether an attribute is there. Properties are computed by being named.
Where the same function also calls the method nothing is said, and neither is it of a mode that makes no
difference: `eval` of networks without dropout or batch norm, `train` where nothing ever left that mode.

## References
- The Python Language Reference, expression statements
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import index
from stethoscope.program.loop.roles import Role
from stethoscope.program.loop.uncalled_methods import UncalledMethod, uncalled_methods
from stethoscope.run import Fix, Level
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP870", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)

# What an object's `step` and `update` would have moved.
MOVED = {Role.OPTIMIZER: "weights", Role.SCHEDULER: "rate", Role.AVERAGE: "average"}
WHAT_STAYS = {
    "backward": "no gradient is ever computed",
    "zero_grad": "gradients are never cleared",
    "eval": "the network stays in training mode",
    "train": "the network stays in evaluation mode",
}


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each statement that is the name of a method."""
    yield from map(_finding, uncalled_methods(index(sources.program)))


def _finding(one: UncalledMethod) -> Finding:
    text = ast.unparse(one.named)
    moved = MOVED.get(one.role, "") if one.role is not None else ""
    stays = WHAT_STAYS.get(one.method) or (f"the {moved} never moves by it" if moved else "nothing happens")
    splice = replaced(one.source, one.named, f"{text}()")
    return Finding(
        one.source.where(one.named),
        f"`{text}` is only named here and not called: {stays}",
        evidence={"method": one.method, _left_out(one.method, moved): True},
        proof="a statement that is an attribute looks it up and does nothing with it",
        fix=Fix(f"Call {text}", Level.UNSAFE, (splice,)) if splice is not None else None,
    )


def _left_out(method: str, moved: str) -> str:
    """What the call would have done, in one word."""
    return method if method in WHAT_STAYS else moved or "other"
