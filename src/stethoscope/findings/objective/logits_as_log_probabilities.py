"""A loss on log-probabilities gets logits.

## What it checks
The prediction that reaches `nll_loss` or `ctc_loss` in training, followed back through functions, networks
and chains of layers: whether it comes from a layer whose outputs may be any number, with no `log_softmax`
behind.

## Why it matters
The loss is then the negative of one output. It has no floor: the largest gain is to raise all of them for
ever. The loss falls below zero without end, and the answers mean nothing.

## When it is harmless
A `log_softmax` anywhere between the layer and the loss. Where the way is not seen, nothing is said.

## References
- torch.nn.NLLLoss, "the input is expected to contain log-probabilities"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.objective.loss_calls import LossCall
from stethoscope.program.walk.values import Applied
from stethoscope.run import Fix, Level
from stethoscope.signals.loss_calls import LossCalls

RULE = Rule(code="OBJ215", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)

UNBOUNDED = frozenset({"nll_loss", "NLLLoss", "ctc_loss", "CTCLoss"})
INSTEAD = {"nll_loss": "cross_entropy", "NLLLoss": "CrossEntropyLoss"}


def examine(losses: LossCalls) -> Iterator[Finding]:
    """Report each negative log-likelihood of plain outputs."""
    for call in losses:
        if call.loss in UNBOUNDED and call.activation == "" and call.activated_at is not None:
            yield Finding(
                where=(call.site.where, call.activated_at.where),
                message=f"{call.loss} gets the outputs of a layer as they are, and expects log-probabilities",
                evidence={"loss": call.site.text, "layer": call.activated_at.text},
                proof="minus one output of a layer has no lower bound",
                fix=_fix(call),
            )


def _fix(call: LossCall) -> Fix | None:
    """The loss that takes logits, in the place of its name."""
    made = call.call.maker if isinstance(call.call.maker, Applied) else call.call
    node = made.site.node
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in INSTEAD
    ):
        return None
    name = f"{ast.unparse(node.func.value)}.{INSTEAD[node.func.attr]}"
    splice = replaced(made.site.source, node.func, name)
    return Fix("take the loss that expects logits", Level.SAFE, (splice,)) if splice else None
