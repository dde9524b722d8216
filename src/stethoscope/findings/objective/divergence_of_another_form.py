"""The target of a divergence is told in another form than the loss expects.

## What it checks
The second argument of `kl_div` and `KLDivLoss` in training, followed back through functions and networks:
whether it went through a `log_softmax` while the loss expects probabilities, or through a `softmax` where
the loss was told `log_target=True`.

## Why it matters
Logarithms of probabilities are negative, so that their own logarithm is not defined: torch leaves those
places out or gives NaN. What is left pulls the answers somewhere else than to the target.

## When it is harmless
Probabilities, and logarithms with `log_target=True`. Where the way is not seen, nothing is said.

## References
- torch.nn.functional.kl_div, `log_target`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import with_keyword
from stethoscope.program.objective.last_activation import last_activation
from stethoscope.program.objective.loss_calls import LossCall, is_constant
from stethoscope.program.walk.values import Value
from stethoscope.run import Fix, Level
from stethoscope.signals.loss_calls import LossCalls

RULE = Rule(code="OBJ229", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)

LOSSES = frozenset({"kl_div", "KLDivLoss"})


def examine(losses: LossCalls) -> Iterator[Finding]:
    """Report each divergence whose target is of the other form."""
    for call in losses:
        target = _target(call) if call.loss in LOSSES else None
        if target is None:
            continue
        form, site = last_activation(call.run, target)
        is_log = is_constant(call.option("log_target"), True)
        if site is not None and (form, is_log) in {("log_softmax", False), ("softmax", True)}:
            has, wants = ("logarithms", "probabilities") if not is_log else ("probabilities", "logarithms")
            yield Finding(
                (call.site.where, site.where),
                f"the target of {call.loss} is {has}, and the loss expects {wants}",
                evidence={"loss": call.site.text, "target": site.text},
                fix=None if is_log else _fix(call),
            )


def _target(call: LossCall) -> Value | None:
    given = call.call.args
    return given[1] if len(given) > 1 else call.call.keywords.get("target")


def _fix(call: LossCall) -> Fix | None:
    made = call.call.maker or call.call
    node = made.site.node
    splice = (
        with_keyword(made.site.source, node, "log_target", "True") if isinstance(node, ast.Call) else None
    )
    return Fix("tell the loss that its target is in logarithms", Level.SAFE, (splice,)) if splice else None
