"""What is kept as the best is the worst, or is never replaced.

## What it checks
Comparisons of a score with the best so far that save weights, remember an epoch or reset a patience: whether
the end that they keep is the better one of a loss, an error or an accuracy, by its name and by the signs in
front of it, or by what is logged under that name. The number that the best begins with: whether any score can
beat it. What Lightning (`monitor=`, `mode=`), a Hugging Face Trainer (`metric_for_best_model`,
`greater_is_better`) and Ignite's `score_function` are told, in the source or in settings.

## Why it matters
The checkpoint called best is then the worst one of the run, or the first, and early stopping ends the run
while it improves. The curves look well; what is tested, published or built upon is not.

## When it is harmless
Looking for the worst on purpose: hard examples, records of the largest loss, snapshots of a run that
diverges. Where a name does not say which end is better (`score`, `fitness`) only the number it begins with
is judged. A comparison that goes by a mode is not judged.

## References
- lightning.pytorch.callbacks.ModelCheckpoint, transformers.TrainingArguments.greater_is_better
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.evaluation.framework_directions import (
    ToldDirection,
    settings_directions,
    told_directions,
)
from stethoscope.program.evaluation.turned_records import TurnedRecord, turned_records
from stethoscope.program.index import index
from stethoscope.run import Fix, Level
from stethoscope.run.names import HIGHER
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA200", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each record that keeps the wrong end, and each that nothing beats."""
    known = index(sources.program)
    for record in turned_records(known):
        yield _never(record) if record.begins is not None else _turned(record)
    for told in told_directions(known):
        kept, better = _end(told.kept), _better(told.wanted)
        yield Finding(
            told.site.where,
            f"{told.what} keeps the checkpoint with the {kept} {told.monitor!r}, and {better} is better",
            evidence={"monitor": told.monitor, "kept": told.kept},
            fix=_other_mode(told),
        )
    for setting, mode, wanted in settings_directions(settings.recipe, known) if settings is not None else ():
        end = _end("lower" if wanted == HIGHER else HIGHER)
        yield Finding(
            (mode.where if mode is not None else setting.where, setting.where),
            f"the checkpoint with the {end} {setting.value!r} is kept, and {_better(wanted)} is better",
            evidence={"monitor": setting.value, "kept": end},
        )


def _turned(record: TurnedRecord) -> Finding:
    return Finding(
        record.site.where,
        f"what is kept as the best has the {_end(record.kept)} `{record.score}`,"
        f" and {_better(record.wanted)} is better",
        evidence={"compared": record.site.text, "kept": record.kept, "wanted": record.wanted},
    )


def _never(record: TurnedRecord) -> Finding:
    begins = record.begins
    places = (record.site.where, *((begins.where,) if begins is not None else ()))
    return Finding(
        places,
        f"no `{record.score}` beats what `{record.record}` begins with, so none is ever kept as the best",
        evidence={"compared": record.site.text, "begins": begins.text if begins is not None else ""},
    )


def _end(kept: str) -> str:
    return "largest" if kept == HIGHER else "smallest"


def _better(wanted: str) -> str:
    return "more" if wanted == HIGHER else "less"


def _other_mode(told: ToldDirection) -> Fix | None:
    """The mode that is written there turned round."""
    value = told.mode.value if isinstance(told.mode, ast.Constant) else None
    if isinstance(value, bool):
        text = str(not value)
    elif value in {"min", "max"}:
        text = '"max"' if value == "min" else '"min"'
    else:
        return None
    splice = replaced(told.site.source, told.mode, text) if told.mode is not None else None
    title = f"keep the {_end(told.wanted)} {told.monitor}"
    return Fix(title, Level.UNSAFE, (splice,)) if splice is not None else None
