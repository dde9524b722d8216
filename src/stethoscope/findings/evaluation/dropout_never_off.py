"""Dropout stays on in evaluation mode.

## What it checks
The methods of networks for dropout that the mode does not reach: `F.dropout` without `training=`, or with
True; a dropout layer that is made in the place where it is used; `scaled_dot_product_attention` with a
`dropout_p` that does not depend on the mode.

## Why it matters
`model.eval()` is called and changes nothing: every score is that of a network with random parts missing.
Validation is worse than training and never the same twice, and so is what the network says in use.

## When it is harmless
Monte-Carlo dropout is on by intention, and dropout that augments the data of training only. A rate of zero
drops nothing. Nothing is said where a condition on the mode stands around it, or the rate depends on it.

## References
- torch.nn.functional.dropout, torch.nn.functional.scaled_dot_product_attention
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced, with_keyword
from stethoscope.program.evaluation.lasting_dropout import LastingDropout, lasting_dropouts
from stethoscope.program.index import dotted, index
from stethoscope.run import Fix, Level
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA224", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)

WHY = {
    "function": "is not told the mode and drops in evaluation too",
    "layer": "is made where it is used, so that no call of eval() reaches it",
    "attention": "gets a rate that evaluation mode does not change",
}


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each dropout that evaluation mode does not switch off."""
    for one in lasting_dropouts(index(sources.program)):
        name = dotted(one.node.func) or "this dropout"
        yield Finding(
            one.source.where(one.node),
            f"{name} {WHY[one.kind]}",
            evidence={"kind": one.kind},
            fix=_fix(one),
        )


def _fix(one: LastingDropout) -> Fix | None:
    """The mode handed over, where there is an argument for it."""
    if one.kind != "function":
        return None
    place = one.node.args[2] if len(one.node.args) > 2 else None
    splice = (
        replaced(one.source, place, "self.training")
        if place is not None
        else with_keyword(one.source, one.node, "training", "self.training")
    )
    return Fix("tell it the mode", Level.SAFE, (splice,)) if splice is not None else None
