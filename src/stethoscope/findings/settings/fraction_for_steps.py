"""A warm-up is told a fraction where a number of steps is asked for.

## What it checks
The schedules of transformers and diffusers (`get_linear_schedule_with_warmup`, `get_scheduler` and their
like): whether `num_warmup_steps` is a number between 0 and 1, written out or from the settings.

## Why it matters
A warm-up of 0.03 steps is over before the first one. The rate is at its full height at once, which is what
the warm-up was for: the loss leaps, or the run never recovers from its start.

## When it is harmless
A fraction that is multiplied by the number of steps. Options that take a ratio (`warmup_ratio`) are told one.

## References
- transformers.get_linear_schedule_with_warmup
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.index import index
from stethoscope.program.loop.fractions_for_steps import FractionForSteps, fractions_for_steps, spoken
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET230", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each warm-up of less than a step."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in fractions_for_steps(index(sources.program), tree):
        yield Finding(
            one.call.source.where(one.told),
            f"{spoken(one.told)} is {one.fraction:g}, and this asks for a number of steps:"
            " the warm-up is over before the first one",
            evidence={"fraction": one.fraction},
            proof="a warm-up of less than one step has none",
            fix=_fix(one),
        )


def _fix(one: FractionForSteps) -> Fix | None:
    if one.total is None or not is_name_chain(one.total):
        return None
    told = Site(one.call.source, one.told)
    text = f"int({told.text} * {spoken(one.total)})"
    splice = replaced(one.call.source, one.told, text)
    return Fix("take the fraction of all steps", Level.UNSAFE, (splice,)) if splice is not None else None
