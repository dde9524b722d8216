"""A resumed run gets its weights back and nothing else.

## What it checks
Programs that load weights and go on counting where they stopped, or that call it a resume: whether the
state of each optimizer that trains is restored too, through helpers, loops over the parts and engines. The
same for weights that are loaded for a resume before a framework trains (Lightning's `fit`, the `train` of a
Hugging Face Trainer) that is not told of the checkpoint. And parts that get their state back and are then
made anew.

## Why it matters
Adam's moments start from nothing: its first steps after the resume are as large as its first ever, on
weights that are far from their start. The loss jumps, and in half precision the scale begins anew as well.
With a resume every few hours the run never leaves this state.

## When it is harmless
Loading weights to fine-tune, to evaluate or to initialise is no resume, whatever the option is called: a load
that leaves some weights out, or that is said to be of pretrained ones, is taken for a start. SGD without
momentum has no state. Engines that restore everything (accelerate, deepspeed, Lightning, the Hugging Face
Trainer) are left alone, and so is a load that could not be followed.

## References
- The checkpoint of a deblurring training held only the network: each resume was followed by a crash.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import with_keyword
from stethoscope.program.edits.checkpoint_edits import restored_too
from stethoscope.program.edits.statements import blocks_around, is_name_chain
from stethoscope.program.index import dotted
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.checkpointing import (
    Resumption,
    engine_loads,
    leaves_optimizer_behind,
    made_by,
    optimizers,
)
from stethoscope.program.resume.framework_resumes import WeightsAlone, weights_alone
from stethoscope.program.resume.remade_parts import remade_parts
from stethoscope.program.resume.state_beside_weights import kept_beside
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Value
from stethoscope.run import Fix, Level, Source
from stethoscope.signals.resumes import Resumes

# What else is lost: the part, the move that shows that training has it, and its role.
PARTS = (
    ("scheduler", Kind.SCHEDULER_STEP, Role.SCHEDULER),
    ("scaler", Kind.SCALER_UPDATE, Role.SCALER),
)
SPOKEN = {"scheduler": "the schedule", "scaler": "the loss scale"}

RULE = Rule(code="RES102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each resume that leaves an optimizer at its start."""
    partial = [call for walk in resumes.walks for call in engine_loads(walk) if leaves_optimizer_behind(call)]
    untold = weights_alone(resumes.index)
    remade = [one for walk in resumes.walks for one in remade_parts(walk) if one.role is not Role.SCHEDULER]
    if not resumes.resumptions and not partial and not untold and not remade:
        raise InsufficientData("no resume of a training was found in the source")
    seen: set[object] = set()
    for call in partial:
        yield Finding(
            call.site.where,
            "the engine restores the weights and is told to leave the state of the optimizer behind",
            evidence={"restored": call.site.text},
            fix=_told_all(call),
        )
    for one in untold:
        yield Finding(
            (one.loaded.where, one.trained.where),
            f"the weights alone come back: {one.option} does not tell the trainer of its checkpoint",
            evidence={"restored": one.loaded.text, "trained": one.trained.text},
            fix=_trainer_told(one),
        )
    for lost in remade:
        if lost.made.site.node not in seen:
            seen.add(lost.made.site.node)
            yield Finding(
                (lost.made.site.where, lost.load.site.where),
                f"the {lost.spoken} gets its state back and is then made anew, without it",
                evidence={"restored": lost.load.site.text, "made": lost.made.site.text},
            )
    for resumption in resumes.resumptions:
        stepped = optimizers(resumption.walk)
        if (
            resumption.only_starts
            or not stepped
            or resumption.restores(Role.OPTIMIZER)
            or resumption.weights.site.node in seen
        ):
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
            fix=_fix(resumption, stepped),
        )


def _also(resumption: Resumption) -> str:
    """The other parts that begin anew."""
    lost = [spoken for part, spoken in SPOKEN.items() if part in _lost_besides(resumption)]
    return f"; {' and '.join(lost)} also begin{'s' if len(lost) == 1 else ''} anew" if lost else ""


def _lost_besides(resumption: Resumption) -> dict[str, Value | None]:
    """The schedule and the scaler, where training has them and the resume does not."""
    found: dict[str, Value | None] = {}
    for part, kind, role in PARTS:
        move = next((one for one in resumption.walk.moves if one.kind is kind), None)
        if move is not None and not resumption.restores(role):
            found[part] = move.subject
    return found


def _fix(resumption: Resumption, stepped: Sequence[Move]) -> Fix | None:
    """The state of the optimizer saved and loaded beside the weights, and what else is lost with it."""
    if len({move.event.site.node for move in stepped}) > 1:
        return None
    parts = {"optimizer": stepped[0].subject, **_lost_besides(resumption)}
    walk, weights = resumption.walk, resumption.weights
    return restored_too(walk, weights, parts) or kept_beside(walk, weights, parts)


def _told_all(call: Call) -> Fix | None:
    """The engine told to restore everything, as it does by itself."""
    node = call.site.node
    if not isinstance(node, ast.Call):
        return None
    source = call.site.source
    told = (
        with_keyword(source, node, word.arg, "True" if word.arg == "load_optimizer_states" else "False")
        for word in node.keywords
        if word.arg in {"load_optimizer_states", "load_module_only"} and isinstance(word.value, ast.Constant)
    )
    splices = tuple(splice for splice in told if splice is not None)
    return Fix("restore the state of the optimizer too", Level.UNSAFE, splices) if splices else None


def _trainer_told(one: WeightsAlone) -> Fix | None:
    """The trainer told of the checkpoint that the weights are read from, where both are in one function."""
    loaded, trained, source = one.loaded.node, one.trained.node, one.trained.source
    if not isinstance(loaded, ast.Call) or not isinstance(trained, ast.Call) or not loaded.args:
        return None
    path = _path(loaded.args[0])
    if path is None or one.loaded.source is not source or not _are_in_one_function(source, loaded, trained):
        return None
    splice = with_keyword(source, trained, one.option, f"{path} or None")
    return Fix("tell the trainer of the checkpoint", Level.UNSAFE, (splice,)) if splice else None


def _path(given: ast.expr) -> str | None:
    """The option that a checkpoint's path comes from: through `torch.load`, or the folder of its file."""
    if isinstance(given, ast.Call) and given.args and (dotted(given.func) or "") == "torch.load":
        given = given.args[0]
    if isinstance(given, ast.JoinedStr) and given.values and isinstance(given.values[0], ast.FormattedValue):
        given = given.values[0].value
    return ast.unparse(given) if isinstance(given, ast.Attribute) and is_name_chain(given) else None


def _are_in_one_function(source: Source, one: ast.AST, other: ast.AST) -> bool:
    """Whether the same functions are around both, so that what one names the other can."""
    around = [
        [
            block[place]
            for block, place in blocks_around(source, node)
            if isinstance(block[place], FunctionNode)
        ]
        for node in (one, other)
    ]
    return around[0] == around[1]
