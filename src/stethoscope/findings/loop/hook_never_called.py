"""A hook has a name that nobody calls.

## What it checks
Methods in the manner of hooks (`on_...`, `before_...`, `after_...`, `..._begin`, `..._end`) of Lightning's
modules and callbacks, of the callbacks of a Hugging Face Trainer, and of the callbacks of a program that
calls them by name: whether the framework, or the program, knows the name. Only a method that would do
something to the training is looked at, and only where another name is close enough to be the one meant.

## Why it matters
A framework calls the hooks that it knows and passes over all others without a word. A schedule that is moved
in a misspelt hook stands still, gradients that are clipped in one are never clipped.

## When it is harmless
A method that the program calls itself, by its name or by a name that is put together from parts, is left
alone. Hooks of other releases of a framework are known, too.

## References
- lightning.pytorch.core.hooks.ModelHooks, transformers.TrainerCallback
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.uncalled_hooks import uncalled_hooks
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP872", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

_WOULD = {
    "schedule": "the schedule is never moved there",
    "clip": "no gradient is clipped there",
    "average": "the average of the weights is never updated there",
    "other": "what it does never happens",
}


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each hook that waits for a call."""
    for hook in uncalled_hooks(index(sources.program)):
        method = hook.method
        yield Finding(
            method.where(),
            f"nothing calls `{method.name}`, so {_WOULD[hook.does]}; did you mean `{hook.meant}`?",
            evidence={"hook": method.name, "meant": hook.meant, hook.does: True},
        )
