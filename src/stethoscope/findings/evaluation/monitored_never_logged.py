"""A checkpoint or a stop watches a number that nothing is logged under.

## What it checks
The names that Lightning's `ModelCheckpoint` and `EarlyStopping`, or the `monitor` of a schedule, are told to
watch, in the source or in settings, against everything that the program logs with `self.log` and
`self.log_dict`. The `metric_for_best_model` of a Hugging Face Trainer against the keys that its
`compute_metrics` gives back.

## Why it matters
The run ends with an error at its first checkpoint, hours after its start, or it warns once and goes on: no
best is kept, and nothing stops early. `val_loss` and `val/loss` are two names.

## When it is harmless
Names that only the run knows, tables that a library makes (`self.log_dict(self.metrics)`), and what is logged
by bases from outside cannot be read: then nothing is said.

## References
- lightning.pytorch.callbacks.ModelCheckpoint, transformers.TrainingArguments.metric_for_best_model
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.monitored_names import unmeasured_names
from stethoscope.program.index import index
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA930", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

MOST_NAMES = 4  # of those that there are, in a message


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each watched name that no logged number can have."""
    recipe = settings.recipe if settings is not None else None
    for one in unmeasured_names(index(sources.program), recipe):
        there = ", ".join(map(repr, one.there[:MOST_NAMES])) or "nothing of its own"
        yield Finding(
            one.where,
            f"{one.watcher} watches {one.name!r}, and nothing is measured under that name: there is {there}",
            evidence={"watched": one.name, "there": ", ".join(one.there)},
        )
