"""A model goes on from a draw that no gradient goes through.

## What it checks
Draws by `sample()` from a distribution that is made of what a network gave, such as a normal one: whether a
network goes on from what was drawn in the step that is trained, in a program with a divergence to a prior;
and whether an actor's loss raises or lowers what a critic says of an action that was drawn so.

## Why it matters
`sample` runs under no_grad, `rsample` does not. The encoder hears nothing of the reconstruction. What is left
for it is the divergence, which pulls its answers to the prior until they say nothing of the input.

## When it is harmless
Draws that are scored by `log_prob`, as policies are; draws under no_grad, for pictures or targets; draws from
a prior without inputs; and distributions that have no `rsample`, whose gradients come in another way.

## References
- Kingma and Welling, Auto-Encoding Variational Bayes, 2014, section 2.4
- torch.distributions, pathwise derivative
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import index
from stethoscope.program.objective.bare_draws import BareDraw, bare_draws
from stethoscope.run import Fix, Level
from stethoscope.signals.lowered_worths import LoweredWorths
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ880", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, worths: LoweredWorths | None) -> Iterator[Finding]:
    """Report each draw between two networks that stops the gradients."""
    yield from map(_finding, bare_draws(index(sources.program)))
    for one in worths.draws if worths is not None else ():
        draw, answer = (" ".join(site.text.split())[:60] for site in (one.draw, one.answer))
        yield Finding(
            (one.draw.where, one.answer.where),
            f"`{draw}` draws under no_grad, and `{answer}` judges what was drawn: "
            "no gradient gets back to the actor",
            evidence={"draw": draw},
            proof="torch.distributions draws without gradients in sample, and with them in rsample",
        )


def _finding(one: BareDraw) -> Finding:
    draw = ast.unparse(one.draw)
    return Finding(
        one.source.where(one.draw),
        f"`{draw}` draws under no_grad, and `{ast.unparse(one.use)}` goes on from it: "
        "no gradient gets back to what the distribution is made of",
        evidence={"draw": draw},
        proof="torch.distributions draws without gradients in sample, and with them in rsample",
        fix=_fix(one),
    )


def _fix(one: BareDraw) -> Fix | None:
    if not isinstance(one.draw.func, ast.Attribute):
        return None
    splice = replaced(one.source, one.draw.func, f"{ast.unparse(one.draw.func.value)}.rsample")
    return Fix("Draw with gradients, by rsample", Level.UNSAFE, (splice,)) if splice is not None else None
