"""A keyword is passed to a class that does not take it.

## What it checks
Keywords in calls of constructors that decide how a training runs: optimizers, schedulers, losses, data
loaders and mixed precision of PyTorch, `TrainingArguments` and `Trainer` of Transformers, the configs and
trainers of TRL, the `Trainer`, callbacks and loggers of Lightning, `Accelerator` and its plugins, the loops
and hooks of MMEngine, and `YOLO(...).train(...)`. They are compared with tables made from the releases of
these packages.

## Why it matters
The run stops at that line with a TypeError: at once where it is the trainer, hours later where it is a
scheduler that is made after a warm-up, or a loader for the last evaluation.

## When it is harmless
Never where no release takes the name. A name that only other releases take is a fault where the requirements,
a lock, the settings or the log say which release is used, and a note where nothing does. Nothing is said of
`**kwargs`, of a class of the repository with its own constructor, of calls whose TypeError is caught, and
of names that some release takes under a test of which version there is.

## References
- `torch.optim`, `transformers.TrainingArguments`, `lightning.pytorch.Trainer`, `accelerate.Accelerator`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.run import Fix, Level
from stethoscope.signals.unknown_arguments import UnknownArgument, UnknownArguments

RULE = Rule(code="SET104", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(unknown: UnknownArguments) -> Iterator[Finding]:
    """Fire on each keyword that is not taken."""
    for one in unknown.arguments:
        yield _finding(one)


def _finding(one: UnknownArgument) -> Finding:
    verdict = one.verdict
    first, last = one.looked_at
    if verdict.history:
        message = f"{one.name} of {one.called}: {verdict.history}"
    else:
        message = f"{one.called} takes no {one.name}: no release from {first} to {last} does"
    if verdict.meant:
        message += f"; did you mean {verdict.meant.name}?"
    rename = Fix(f"call it {verdict.meant.name}", Level.UNSAFE, (one.rename,)) if one.rename else None
    return Finding(
        one.where,
        message,
        evidence={"argument": one.name, "called": one.called, "suggestion": verdict.meant.name},
        strength=1.0 if verdict.version_known else 0.0,
        severity=None if verdict.version_known else Severity.NOTE,
        fix=rename,
    )
