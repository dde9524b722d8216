"""An average of the weights takes nearly all of the new ones, or is drawn into the network.

## What it checks
Updates of averages, target networks and teachers, however they are written (`lerp_`, `mul_().add_()`, a sum
of two products): how much of the average each keeps. The number is looked for in the source, in defaults and
in what the class is made with; where there is none, a share that is called decay is what is kept. A share of
`lerp` that follows from settings and steps is computed for a late step. Reported
too is an update that writes to the network that an optimizer trains.

## Why it matters
An average that keeps a thousandth of itself is the network of one step ago: nothing is averaged, a target
network moves as fast as what chases it, and a self-supervised pair collapses. The other way round the
average stays where it began, and pulls the network back to its start at every step.

## When it is harmless
A small `tau` is what is *taken* in reinforcement learning, and a momentum of 0.1 is what BatchNorm takes.
Slow weights of Lookahead keep a fifth to a half of themselves. A copy that is meant to be one takes all.

## References
- Grill et al., Bootstrap Your Own Latent, 2020, section 3.1
- torch.Tensor.lerp_
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import index
from stethoscope.program.loop.computed_shares import computed_shares
from stethoscope.program.loop.turned_averages import Blend, blended_networks, turned_averages
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Fix, Level, Source
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP217", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each update that keeps the small share, and each that writes to the trained network."""
    known = index(sources.program)
    tree = settings_tree(settings.recipe if settings is not None else None)
    told = {id(turned.blend.node): turned for turned in turned_averages(known)}
    computed = {id(turned.blend.node): turned for turned in computed_shares(known, tree)}
    for turned in {**computed, **told}.values():
        kept = f"{turned.share:.2g} of it" if turned.share is not None else "what its decay should take away"
        yield Finding(
            turned.source.where(turned.blend.node),
            f"this average keeps {kept} and takes the rest from the new weights",
            evidence={"kind": "shares", "kept": turned.share},
            fix=_with_shares_turned(turned.source, turned.blend),
        )
    for blended in blended_networks(known):
        yield Finding(
            (blended.source.where(blended.blend.node), blended.source.where(blended.trained)),
            f"{blended.network}, which is trained, is drawn after {blended.average}, which nothing moves",
            evidence={"kind": "sides", "network": blended.network, "average": blended.average},
        )


def _with_shares_turned(source: Source, blend: Blend) -> Fix | None:
    """What is kept and what is taken, each in the place of the other."""
    if not hasattr(blend.taken, "lineno"):
        return None  # the share that is taken is written nowhere
    if blend.kept is None:
        splices = [replaced(source, blend.taken, _rest_of(blend.taken))]
    else:
        splices = [
            replaced(source, blend.kept, _in_place(source, blend.kept, blend.taken)),
            replaced(source, blend.taken, _in_place(source, blend.taken, blend.kept)),
        ]
    made = tuple(one for one in splices if one is not None)
    return (
        Fix("keep the large share of the average", Level.UNSAFE, made) if len(made) == len(splices) else None
    )


def _in_place(source: Source, place: ast.expr, other: ast.expr) -> str:
    """The text of the other share, in brackets where its new place has none of its own."""
    text = ast.unparse(other)
    span = ast.get_source_segment(source.text, place)
    is_bare = isinstance(other, ast.BinOp) and isinstance(place, ast.Name | ast.Attribute | ast.Constant)
    return f"({text})" if is_bare and span is not None else text


def _rest_of(taken: ast.expr) -> str:
    match taken:
        case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0), right=right):
            return ast.unparse(right)
    return f"1 - {ast.unparse(taken)}"
