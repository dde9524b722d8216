"""The input is corrupted with one noise level, and the network and the loss are told another.

## What it checks
Where a network gets noisy input and the level of the noise beside it: whether that level is scaled by
something that moves with training (a curriculum, a ramp, the step) on its way into the corruption only, and
whether the network is told a step that was drawn anew and has no part in the corruption. The corruption is
also computed on numbers: where what the network is told moves with a draw, the share of the noise in its
input has to move with it, and the other way round.

## Why it matters
The network conditions on a level that is not there, and a loss computed with the original level is the wrong
bound. What it learns early is wrong later, when the factor has moved; at sampling the levels mean what they
say, and the network has never seen them so.

## When it is harmless
A constant factor is learned along. Scaling the level once, before it is handed to the corruption, the network
and the loss alike, keeps the three together. Labels and other conditions are no levels: what data has a part
in is not looked at, and a network may be told nothing at all.

## References
- Lou et al., Discrete Diffusion Modeling by Estimating the Ratios of the Data Distribution, 2024
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import is_known_at
from stethoscope.program.objective.levels_apart import LevelApart
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.denoising import DenoisingObjective

RULE = Rule(code="OBJ107", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(objective: DenoisingObjective) -> Iterator[Finding]:
    """Report each level that is scaled for the corruption alone, or drawn for the network alone."""
    for level in objective.seen.scaled:
        yield Finding(
            where=(level.scaled.where, level.told.where),
            message=f"the corruption uses {_text(level.scaled.text)}, and the network is told the level "
            "without the factor",
            evidence={"corruption": level.scaled.text, "factor": level.factor, "network": level.told.text},
            fix=_told_with_factor(level.scaled, level.told, level.factor),
        )
    for foreign in objective.seen.foreign:
        yield Finding(
            where=(foreign.drawn.where, foreign.told.where, foreign.used.where),
            message="the network is told "
            + (
                "something else in the shape of the level"
                if foreign.is_filled
                else "a level that was drawn for it alone"
            )
            + f": the corruption uses {_text(foreign.used.text)}",
            evidence={"told": foreign.drawn.text, "used": foreign.used.text, "network": foreign.told.text},
        )
    known = {id(one.told.node) for one in objective.seen.scaled}
    known |= {id(one.told.node) for one in objective.seen.foreign}
    for apart in objective.seen.apart if not known else ():
        yield Finding(
            where=(apart.told.where, apart.drawn.where),
            message=_why(apart),
            evidence={"told": apart.told.text, "drawn": apart.drawn.text},
        )


def _why(apart: LevelApart) -> str:
    drawn = _text(apart.drawn.text)
    if not apart.moves_level:
        return f"the noise in the input goes with {drawn}, and what the network is told of it never changes"
    if apart.moves_noise:
        return (
            f"the network is told a level that follows from {drawn}, and its input has noise of another draw"
        )
    return (
        f"the network is told a level that follows from {drawn}, and the noise in its input is always as much"
    )


def _text(text: str) -> str:
    return " ".join(text.split())[:80]


def _told_with_factor(scaled: Site, told: Site, factor: str) -> Fix | None:
    """The network told what the corruption uses, where one function does both."""
    product, call = scaled.node, told.node
    if (
        not isinstance(product, ast.BinOp)
        or not isinstance(call, ast.Call)
        or scaled.source is not told.source
    ):
        return None
    sides = [ast.unparse(side) for side in (product.left, product.right)]
    level = next((side for side in sides if side != factor), "")
    given = [
        one for one in (*call.args, *(word.value for word in call.keywords)) if ast.unparse(one) == level
    ]
    if factor not in sides or len(given) != 1 or not is_known_at(told.source, product, call):
        return None
    splice = replaced(told.source, given[0], ast.unparse(product))
    return (
        Fix("tell the network the level that is used", Level.UNSAFE, (splice,))
        if splice is not None
        else None
    )
