"""A hook throws away what the framework would have restored.

## What it checks
Hooks of Lightning (`on_load_checkpoint`, `on_save_checkpoint`) that always take the states of the optimizers
or schedules out of the checkpoint, and a Hugging Face Trainer's methods for them that were overridden with
nothing, in programs that go on from a checkpoint (`ckpt_path`, `resume_from_checkpoint`).

## Why it matters
The framework finds no state and says nothing. The optimizer's moments begin from nothing on weights that are
far from their start, or the schedule begins anew, and the loss jumps with every resume.

## When it is harmless
A hook that only changes weights or names, one under a condition of its own (`if self.finetune`), or a class
that fine-tunes by its name is not reported. Nor is a program that is never told of a checkpoint.

## References
- lightning.pytorch.core.hooks.CheckpointHooks
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.resume.dropped_states import OPTIMIZER, dropped_states
from stethoscope.signals.sources import Sources

RULE = Rule(code="RES228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each state that a hook drops."""
    for one in dropped_states(index(sources.program)):
        is_optimizer = one.state == OPTIMIZER
        part = "optimizer" if is_optimizer else "schedule"
        yield Finding(
            (one.dropped.where, one.resumed.where),
            f"{one.hook.name} drops the state of the {part}, and the program resumes from checkpoints",
            evidence={"hook": one.hook.name, "state": one.state, "optimizer": is_optimizer},
        )
