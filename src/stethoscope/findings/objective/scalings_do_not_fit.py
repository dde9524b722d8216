"""One scaling of a denoiser does not fit the others.

## What it checks
Functions that compute the scalings of a preconditioned denoiser from the noise level and the spread of the
data (`c_skip`, `c_out`, `c_in`): each formula is computed for a few numbers. Where one is exactly that of
Karras et al., another that goes by the name of one must be so too. What is minimised is tried as well: the
scalings of each denoiser and the weight of its loss come out of it as numbers, and with them the spread of
the data that each was made with, which has to be one.

## Why it matters
The three belong together: they keep what the network gets and what it has to give at unit size at every noise
level. With a root left out or two of them changed, inputs grow or vanish with the noise, or the output can
no longer be the clean data, and some part of the levels is never learned.

## When it is harmless
Other families of scalings are left alone: nothing is said where no formula is one of these.

## References
- Karras et al., Elucidating the Design Space of Diffusion-Based Generative Models, 2022, table 1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.preconditioners import odd_scalings
from stethoscope.program.objective.tried_scalings import MisfitScaling
from stethoscope.signals.sources import Sources
from stethoscope.signals.tried_scalings import TriedScalings

RULE = Rule(code="OBJ726", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)

FORMULAS = {
    "skip": "data^2 / (sigma^2 + data^2)",
    "out": "sigma * data / sqrt(sigma^2 + data^2)",
    "in": "1 / sqrt(sigma^2 + data^2)",
}


ROLES = {
    "skip": "what the skip is multiplied with",
    "output": "what the network's output is multiplied with",
    "input": "what the network's input is multiplied with",
    "weight": "the weight of the loss",
}


def examine(sources: Sources, tried: TriedScalings | None) -> Iterator[Finding]:
    """Report each scaling that does not fit its neighbours."""
    written = list(odd_scalings(index(sources.program)))
    for one in written:
        text = " ".join(ast.unparse(one.node).split())[:80]
        yield Finding(
            one.source.where(one.node),
            f"`{one.name}` is {text}, and beside its neighbours it should be {FORMULAS[one.role]}",
            evidence={"scaling": one.name, "formula": text},
        )
    for misfit in tried.misfits if tried is not None and not written else ():
        yield _misfit(misfit)


def _misfit(misfit: MisfitScaling) -> Finding:
    made = (
        "has another form than"
        if misfit.own_spread is None
        else f"is made with {misfit.own_spread:.3g}, unlike"
    )
    return Finding(
        misfit.site.where,
        f"{ROLES[misfit.role]} {made} the others, which take {misfit.spread:.3g} for the spread of the data",
        evidence={"scaling": misfit.role, "spread": misfit.spread, "own_spread": misfit.own_spread},
        severity=None if misfit.role in {"skip", "output"} else Severity.WARNING,
    )
