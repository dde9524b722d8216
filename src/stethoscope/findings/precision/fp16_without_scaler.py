"""Training runs in float16 autocast, and nothing scales the loss.

## What it checks
Each training loop whose forward pass runs inside float16 autocast (a `with` block, a decorator, a region
inside the network) or on a network that apex cast (`amp.initialize`): whether its backward pass is of a
scaled loss. `torch.autocast("cuda")` without a dtype is float16.

## Why it matters
Gradients of activations are often below 6e-8, the smallest number that float16 holds, and become zero on the
way back. Early layers then get no gradient, the loss goes down slowly or not at all, and no error appears.

## When it is harmless
bfloat16 has the range of float32 and needs no scale. A `GradScaler`, an engine that scales by itself
(accelerate, Fabric, Lightning, deepspeed, the Hugging Face Trainer), apex's `amp.scale_loss`, and a factor by
hand (`loss * 1024`) are all fine. Autocast around evaluation only has no gradients to lose.

## References
- torch.amp, "Gradient Scaling"
- Micikevicius et al., "Mixed Precision Training"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.loop.moves import Kind
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.framework_scaling import unscaled_trainers
from stethoscope.program.precision.loop_precision import LoopPrecision, Region
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.values import Site, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.half_precision import HalfPrecision
from stethoscope.signals.loop_precisions import LoopPrecisions

RULE = Rule(code="PRC106", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(precisions: LoopPrecisions | None, half: HalfPrecision) -> Iterator[Finding]:
    """Report each loop that trains in float16 without a scale."""
    trainers = list(unscaled_trainers(half.sections.index))
    if precisions is None and not trainers:
        raise InsufficientData("no backward pass was found in the source")
    for site in trainers:
        yield Finding(
            where=site.where,
            message="the trainer runs in float16, and the loss is not scaled: small gradients become 0",
            evidence={"trainer": site.text},
            strength=0.9,
        )
    told: set[tuple[int, int]] = set()
    for precision in precisions or ():
        loop = precision.loop
        region = next((one for one in precision.regions if one.autocast.may_be(DType.FLOAT16)), None)
        is_updated = loop.hook is not None or any(move.updates for move in loop.moves)
        if region is None or precision.scaled or not is_updated:
            continue
        certain = region.autocast.only(DType.FLOAT16)
        backward = _backward(precision)
        if (id(region.site.node), id(backward.node)) in told:
            continue
        told.add((id(region.site.node), id(backward.node)))
        when = "float16" if certain else "float16 under some settings"
        yield Finding(
            where=(region.site.where, backward.where),
            message=f"the forward pass runs in {when}, and the loss is not scaled: small gradients become 0",
            evidence={"region": region.site.text, "backward": backward.text},
            strength=0.9 if certain else 0.5,
            fix=_fix(precision, region) if certain else None,
        )


def _backward(precision: LoopPrecision) -> Site:
    """The backward pass, or where a framework makes it: the hook that gives the loss."""
    loop = precision.loop
    moves = loop.of(Kind.BACKWARD)
    if moves or loop.hook is None:
        return moves[0].event.site
    returned = own_nodes(loop.hook.node, ast.Return)
    return Site(loop.hook.source, returned[-1] if returned else loop.hook.node)


def _fix(precision: LoopPrecision, region: Region) -> Fix | None:
    """bfloat16 instead: it needs no scale."""
    node, source = region.site.node, region.site.source
    module = precision.loop.run.index.module_of(source)
    if not isinstance(node, ast.Call) or (dotted(node.func) or "").rpartition(".")[2] != "autocast":
        return None
    if module.imports.get("torch") != "torch":
        return None
    given = next((word.value for word in node.keywords if word.arg == "dtype"), None)
    span = span_of(source, given if given is not None else node)
    if span is None or (given is None and len(node.args) > 1):
        return None
    if given is not None:
        splice = Splice(source.file, span[0], span[1], "torch.bfloat16")
    else:
        comma = ", " if node.args or node.keywords else ""
        splice = Splice(source.file, span[1] - 1, span[1] - 1, f"{comma}dtype=torch.bfloat16")
    return Fix("train in bfloat16, which needs no scale", Level.UNSAFE, (splice,))
