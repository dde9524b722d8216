"""Statistics are taken of all rows before some of them are held out.

## What it checks
Bodies of code that split their rows (`train_test_split`, two slices called training and held-out): whether a
scaler, an imputer, a projection or a choice of features is fitted to all of them first, or their mean and
deviation are taken by hand. Rows are numbered, and followed through the functions and objects of the program:
a statistic over rows of both parts that both are scaled by is reported wherever it was taken.

## Why it matters
What is held out has had its say in how the training data look. With a choice of features by the answers,
noise alone can score well; with a scaler the gain is small on many rows and large on few or drifting ones.

## When it is harmless
A scaler fitted to the training rows and applied to both; statistics of each row by itself; answers that are
scaled; rows that were read from a training file, which another one is held out against.

## References
- scikit-learn, "Common pitfalls": data leakage during pre-processing
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.fitted_on_all import fitted_on_all
from stethoscope.program.data.rows.shared import shared_rows
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT410", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each fit to rows that are split later."""
    program = index(sources.program)
    told: set[tuple[str, int | None]] = set()
    for one in fitted_on_all(program):
        if (one.fitted.source.file, one.fitted.where.line) in told:
            continue
        told.add((one.fitted.source.file, one.fitted.where.line))
        yield Finding(
            (one.fitted.where, one.split.where),
            f"all rows of {one.name} have a say here, and some of them are held out further down:"
            f" `{' '.join(one.split.text.split())[:60]}`",
            evidence={"fitted": one.fitted.text, "by answers": one.by_answers},
        )
    for shared in shared_rows(program):
        measured = shared.measured
        if measured is not None and (measured.source.file, measured.where.line) not in told:
            told.add((measured.source.file, measured.where.line))
            yield Finding(
                (measured.where, shared.held_out.where),
                f"`{' '.join(measured.text.split())[:60]}` is taken over rows of {shared.names[1]} and of"
                f" {shared.names[0]}, and both are scaled by it",
                evidence={"fitted": measured.text, "by answers": False},
            )
