"""The gradient norm is measured by clipping to infinity, which changes gradients when one is not finite.

## What it checks
`clip_grad_norm_(parameters, inf)` between the backward pass and an update of the weights, where nothing
stops a norm that is not finite, and with a gradient scaler where the gradients are still scaled.

## Why it matters
The call looks like a measurement, but it multiplies every gradient by `inf / norm`, held to at most 1. Where
a single gradient is inf the factor is inf / inf: all gradients of all layers become NaN, and the update
destroys the weights. Before `unscale_` the number it gives is too large by the loss scale, 65536 times at
first.

## When it is harmless
After `scaler.unscale_`, `scaler.step` skips the update, unless the scaler is switched off. A check of the
norm, `error_if_nonfinite=True`, and a measurement after the step, before the gradients are cleared, are fine
as well. `max_norm` that is only sometimes infinite (`args.clip or inf`) is a way to switch clipping off: it
is reported where clipping is off as the program stands.

## References
- torch.nn.utils.clip_grad_norm_ and torch.nn.utils.get_total_norm
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.index import Index
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.precision.autocast import DType, engine_precision, precision_autocast
from stethoscope.program.precision.framework_scaling import engine_scales, hook_scales
from stethoscope.program.precision.infinite_bounds import is_infinite
from stethoscope.program.precision.loop_precision import LoopPrecision
from stethoscope.program.precision.update_hooks import update_hooks
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Outside, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.half_precision import HalfPrecision
from stethoscope.signals.loop_precisions import LoopPrecisions

RULE = Rule(code="PRC110", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

CLIPS = frozenset({"clip_grad_norm_", "clip_gradients"})
CHECKS = frozenset({"isfinite", "isnan", "isinf"})


def examine(precisions: LoopPrecisions | None, half: HalfPrecision) -> Iterator[Finding]:
    """Report each clip to infinity that an update follows."""
    index, settings = half.sections.index, half.settings
    hooks = update_hooks(index, settings)
    if precisions is None and not hooks:
        raise InsufficientData("no backward pass was found in the source")
    reported: set[ast.AST] = set()
    for precision in precisions or ():
        loop = precision.loop
        for clip in loop.of(Kind.CLIP):
            call = clip.event
            if not isinstance(call, Call) or call.site.node in reported or not _measures(loop.run, call):
                continue
            reach = _reach(precision, clip)
            if reach and not _is_checked(loop, call):
                reported.add(call.site.node)
                yield _finding(index, call, reach)
    scaling = hook_scales(index, settings)
    for hook, run in hooks:
        scales = scaling.get("compute_loss" if hook.name == "on_pre_optimizer_step" else "training_step")
        for call in run.events:
            if not isinstance(call, Call) or call.site.node in reported or not _measures(run, call):
                continue
            # Before an update the framework has unscaled: a step with an infinite gradient is skipped.
            if (scales and hook.name != "on_after_backward") or _decides(call):
                continue
            reported.add(call.site.node)
            yield _finding(index, call, "scaled" if scales else "plain")


def _finding(index: Index, call: Call, reach: str) -> Finding:
    scaled = reach == "scaled"
    said = (
        "the norm is measured before unscale_, so it is too large by the loss scale"
        if scaled
        else "clipping to infinity is no mere measurement: one infinite gradient makes it turn all into NaN"
    )
    return Finding(
        where=call.site.where,
        message=said,
        evidence={"call": call.site.text},
        proof="" if scaled else "inf / inf is NaN, and every gradient is multiplied by it",
        severity=Severity.WARNING if scaled else None,
        fix=None if scaled else _fix(index, call),
    )


def _measures(run: Execution, call: Call) -> bool:
    name = call.callee.name.rpartition(".")[2] if isinstance(call.callee, Outside) else call.name
    if name not in CLIPS or (name != "clip_grad_norm_" and not isinstance(call.receiver, Applied)):
        return False
    certain = call.keywords.get("error_if_nonfinite")
    if isinstance(certain, Constant) and certain.value is True:
        return False
    given = call.keywords.get("max_norm", call.keywords.get("gradient_clip_val"))
    if given is None and name == "clip_grad_norm_":
        given = call.argument(1, "max_norm")
    return is_infinite(run.index, run.settings, given)


def _reach(precision: LoopPrecision, clip: Move) -> str:
    """How a clip reaches an update: "scaled", "plain", or "" where it does not."""
    found = ""
    for path in precision.loop.paths:
        if clip not in path.moves:
            continue
        at = path.moves.index(clip)
        before, after = path.moves[:at], path.moves[at + 1 :]
        if clip.by_engine and _unscales(precision.loop, clip):
            continue
        scaled = any(move.kind is Kind.BACKWARD and move.scaled for move in before)
        unscaling = [move for move in before if move.kind is Kind.UNSCALE]
        if unscaling:
            if _is_always_on(precision) and all(map(_has_scaler, unscaling)):
                continue
            scaled = False
        for move in after:
            if move.kind is Kind.ZERO_GRAD:
                break
            if move.updates:
                found = "scaled" if scaled else found or "plain"
                break
    return found


def _unscales(loop: TrainingLoop, clip: Move) -> bool:
    """Whether an engine clips what it has unscaled: in float16, where its step is skipped then."""
    event = clip.event
    engine = event.receiver if isinstance(event, Call) else None
    return engine_scales(loop.run.index, loop.run.settings, engine) is True


def _has_scaler(unscaling: Move) -> bool:
    """Whether what unscales is sure to have a scaler: an engine has one in float16 only."""
    event = unscaling.event
    precision = engine_precision(event.receiver) if isinstance(event, Call) else None
    if not unscaling.by_engine or precision is None:
        return True
    return isinstance(precision, Constant) and precision_autocast(precision).only(DType.FLOAT16)


def _is_always_on(precision: LoopPrecision) -> bool:
    """Whether no scaler of the loop can be switched off; one that was not seen to be made counts as on."""
    switches = [scaler.keywords.get("enabled") for scaler in precision.scalers]
    return all(one is None or (isinstance(one, Constant) and one.value is True) for one in switches)


def _is_checked(loop: TrainingLoop, call: Call) -> bool:
    """Whether something in the loop looks at a norm that is not finite, or decides by the norm."""
    checks = [event for event in loop.events if isinstance(event, Call) and event.name in CHECKS]
    if any(_is_in_round(loop, check, call) for check in checks):
        return True
    return _decides(call)


def _decides(call: Call) -> bool:
    """Whether something is decided by the norm in the function that measures it."""
    home = call.within[-1].node if call.within else call.site.source.tree
    names = {
        target.id
        for node in all_nodes(home, ast.Assign)
        if any(inner is call.site.node for inner in all_nodes(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    tests = [node.test for node in all_nodes(home) if isinstance(node, ast.If | ast.Assert | ast.IfExp)]
    return any(isinstance(n, ast.Name) and n.id in names for test in tests for n in all_nodes(test))


def _is_in_round(loop: TrainingLoop, check: Call, call: Call) -> bool:
    """Whether a check is made in the round that clips: one after an epoch comes too late."""
    return check.scope is call.scope or loop.body is None or loop.body in tuple(check.scopes())


def _fix(index: Index, call: Call) -> Fix | None:
    node, source = call.site.node, call.site.source
    span = span_of(source, node)
    if span is None or not isinstance(node, ast.Call) or not node.args or len(node.keywords) > 1:
        return None
    if index.module_of(source).imports.get("torch") != "torch":
        return None
    parameters = span_of(source, node.args[0])
    if parameters is None:
        return None
    written = source.text[parameters[0] : parameters[1]]
    text = f"torch.nn.utils.get_total_norm([p.grad for p in {written} if p.grad is not None])"
    splice = Splice(source.file, span[0], span[1], text)
    return Fix("measure without touching the gradients (torch 2.6)", Level.UNSAFE, (splice,))
