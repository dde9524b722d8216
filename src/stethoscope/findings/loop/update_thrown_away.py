"""A loop over weights computes new values and throws them away.

## What it checks
Loops over the parameters or buffers of a network: statements that give the name of the loop another value
(`mean = decay * mean + (1 - decay) * p`), or that call a method which returns a new tensor and use nothing of
it (`mean.lerp(p, 0.01)` instead of `mean.lerp_`).

## Why it matters
The name is bound to a new tensor, and the network keeps its old one. An average that is written so is what
the network was at its start, whatever the log says; an update that is written so trains nothing.

## When it is harmless
A new value that is used behind the statement, as in `shadow[name] = mean`.

## References
- torch.Tensor.lerp_, torch.Tensor.copy_
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.loop.thrown_updates import ThrownUpdate
from stethoscope.run import Fix, Level
from stethoscope.signals.thrown_updates import ThrownUpdates

RULE = Rule(code="LOP118", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(updates: ThrownUpdates) -> Iterator[Finding]:
    """Report each statement that means to change a weight and does not."""
    for one in updates:
        text = ast.unparse(one.statement)
        what = "the average" if one.is_average else "the weight"
        yield Finding(
            one.source.where(one.statement),
            f"{text} makes a new tensor, and {what} stays as it was",
            evidence={"statement": text, "of": "average" if one.is_average else "weights"},
            proof="a name that is bound to a new tensor leaves the old one unchanged",
            fix=_fix(one),
        )


def _fix(one: ThrownUpdate) -> Fix | None:
    """The same computation, written into the tensor that is there."""
    if not isinstance(one.statement, ast.Assign):
        return None
    text = f"{one.name}.data.copy_({ast.unparse(one.statement.value)})"
    splice = replaced(one.source, one.statement, text)
    return Fix("write the value into the weight", Level.SAFE, (splice,)) if splice else None
