"""A resumed run gets its weights back and nothing else.

## What it checks
Programs that load weights and go on counting where they stopped, or that call it a resume: whether the
state of each optimizer that trains is restored too, through helpers, loops over the parts and engines. The
same for weights that are loaded for a resume before a framework trains (Lightning's `fit`, the `train` of a
Hugging Face Trainer) that is not told of the checkpoint.

## Why it matters
Adam's moments start from nothing: its first steps after the resume are as large as its first ever, on
weights that are far from their start. The loss jumps, and in half precision the scale begins anew as well.
With a resume every few hours the run never leaves this state.

## When it is harmless
Loading weights to fine-tune, to evaluate or to initialise is no resume. SGD without momentum has no state.
Engines that restore everything (accelerate, deepspeed, Lightning, the Hugging Face Trainer) are left alone,
and so is a load that could not be followed.

## References
- The checkpoint of a deblurring training held only the network: each resume was followed by a crash.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.checkpointing import (
    Resumption,
    engine_loads,
    leaves_optimizer_behind,
    made_by,
    optimizers,
)
from stethoscope.program.framework_resumes import weights_alone
from stethoscope.program.moves import Kind
from stethoscope.program.roles import Role
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each resume that leaves an optimizer at its start."""
    partial = [call for walk in resumes.walks for call in engine_loads(walk) if leaves_optimizer_behind(call)]
    untold = weights_alone(resumes.index)
    if not resumes.resumptions and not partial and not untold:
        raise InsufficientData("no resume of a training was found in the source")
    seen: set[object] = set()
    for call in partial:
        yield Finding(
            call.site.where,
            "the engine restores the weights and is told to leave the state of the optimizer behind",
            evidence={"restored": call.site.text},
        )
    for one in untold:
        yield Finding(
            (one.loaded.where, one.trained.where),
            f"the weights alone come back: {one.option} does not tell the trainer of its checkpoint",
            evidence={"restored": one.loaded.text, "trained": one.trained.text},
        )
    for resumption in resumes.resumptions:
        stepped = optimizers(resumption.walk)
        if not stepped or resumption.restores(Role.OPTIMIZER) or resumption.weights.site.node in seen:
            continue
        seen.add(resumption.weights.site.node)
        name = made_by(stepped[0].subject)
        counted = resumption.counter
        places = (resumption.weights.site.where, *((counted.site.where,) if counted is not None else ()))
        optimizer = f"the optimizer ({name})" if name else "the optimizer"
        yield Finding(
            (*places, stepped[0].event.site.where),
            f"the resume restores the weights and not the state of {optimizer}{_also(resumption)}",
            evidence={"restored": resumption.weights.site.text, "optimizer": name},
        )


def _also(resumption: Resumption) -> str:
    """The other parts that begin anew."""
    kinds = {move.kind for move in resumption.walk.moves}
    lost = []
    if Kind.SCHEDULER_STEP in kinds and not resumption.restores(Role.SCHEDULER):
        lost.append("the schedule")
    if Kind.SCALER_UPDATE in kinds and not resumption.restores(Role.SCALER):
        lost.append("the loss scale")
    return f"; {' and '.join(lost)} also begin{'s' if len(lost) == 1 else ''} anew" if lost else ""
