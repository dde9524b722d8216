"""Every step waits for the device to hand over a number.

## What it checks
`.item()`, `.cpu()`, `.numpy()`, `.tolist()` and `float(...)` of the loss, of what the network gave or of
the gradient norm, and `torch.cuda.synchronize()`, reached in every round of a training loop that runs on an
accelerator.

## Why it matters
Such a call blocks until all queued work is done. The queue runs dry, and the device then waits for Python
at every step: with small models that is a third of the time and more. Summing `loss.detach()` and reading
it once per interval costs nothing.

## When it is harmless
Under a condition such as `if step % log_every == 0`; once per epoch; on the CPU, where nothing is queued;
and where each step is long, the wait is lost in it: this is a note about speed.

## References
- PyTorch Performance Tuning Guide: Avoid unnecessary CPU-GPU synchronization
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import CLIPPING, Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Constant, Value
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP112", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

_ACCELERATOR = re.compile(
    r"cuda|\.to\(|[Aa]ccelerat|[Ff]abric|\bmps\b|torch_xla|LightningModule|transformers|deepspeed"
)
_IN_TRAINING = re.compile(r"^[\w.]*\btraining$")
_CPU_ONLY = re.compile(r"device\s*=\s*(?:torch\.device\()?[\"']cpu[\"']")


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each training loop that waits in every round, at the first place where it does."""
    for loop in loops:
        if loop.hook is None and not any(move.updates for move in loop.moves):
            continue
        waits = [
            move for move in loop.of(Kind.SYNC) if _is_every_step(loop, move) and _is_on_device(loop, move)
        ]
        if not waits or not _has_accelerator(loop, waits[0]):
            continue
        places = tuple(dict.fromkeys(move.event.site.where for move in waits))
        first = waits[0].event.site
        splices = _fix(loop, waits[0])
        more = f", and {len(places) - 1} more such places" if len(places) > 1 else ""
        yield Finding(
            where=places,
            message=f"{first.text} makes every step wait for the device{more}",
            evidence={"places": len(places)},
            fix=Fix("sum on the device", Level.UNSAFE, splices) if splices else None,
        )


def _is_every_step(loop: TrainingLoop, wait: Move) -> bool:
    backward = next(iter(loop.of(Kind.BACKWARD)), None)
    asked = questions(loop, wait.event)
    if backward is None:
        # A hook of training runs with the network in training.
        others = [question for question, answer in asked if not (answer and _IN_TRAINING.search(question))]
        return loop.hook is not None and not others
    return asked <= questions(loop, backward.event)


def _is_on_device(loop: TrainingLoop, wait: Move) -> bool:
    if isinstance(wait.event, Call) and wait.event.name == "synchronize":
        return True
    if wait.subject is None or isinstance(wait.subject, Constant):
        return False
    losses = {*(id(move.subject) for move in loop.of(Kind.BACKWARD)), id(loop.trace.loss)}
    for value in ancestry(loop.run, wait.subject, _is_host):
        if id(value) in losses or _is_norm(value):
            return True
    return (
        not _is_host(wait.subject)
        and comes_from_model(loop.run, wait.subject)
        and not _passed_host(loop, wait)
    )


def _passed_host(loop: TrainingLoop, wait: Move) -> bool:
    """Whether the value had been brought to the host before: the wait was there."""
    return any(_is_host(value) for value in ancestry(loop.run, wait.subject))


def _is_host(value: Value) -> bool:
    # `.float()` of a tensor leaves it where it is.
    return isinstance(value, Applied) and value.callee in {
        ".item",
        ".cpu",
        ".numpy",
        ".tolist",
        "float",
        "int",
    }


def _is_norm(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in CLIPPING


def _has_accelerator(loop: TrainingLoop, wait: Move) -> bool:
    texts = {event.site.source.text for event in (wait.event, *loop.events)}
    texts |= {loop.trace.start.source.text}
    if any(_CPU_ONLY.search(text) for text in texts):
        return False
    return any(_ACCELERATOR.search(text) for text in texts)


def _fix(loop: TrainingLoop, wait: Move) -> tuple[Splice, ...]:
    """`total += loss.item()` sums as well with `.detach()`."""
    node, span = wait.event.site.node, wait.event.site.span
    for event in loop.events:
        is_sum = (
            isinstance(event, Assignment)
            and event.operator == "+"
            and isinstance(event.site.node, ast.AugAssign)
        )
        if not is_sum or event.site.node.value is not node or span is None:  # type: ignore[attr-defined]
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            text = f"{ast.unparse(node.func.value)}.detach()"
            return (Splice(wait.event.site.source.file, *span, text),)
    return ()
