"""A metric counts the places whose labels are to be ignored.

## What it checks
The `compute_metrics` of a Hugging Face Trainer, with the functions it calls, where labels are filled up with
-100, by a collator of transformers or by the program: whether the likeliest classes are compared with the
labels, and nothing speaks of -100, of a mask or of a comparison that leaves places out.

## Why it matters
The loss passes over -100, the metric gets it as it is. No answer equals it, so that an accuracy falls with
the length of the padding; a score that turns it into a class counts the pads as answers.

## When it is harmless
One label per text is never filled up. Texts that are decoded before they are compared, and functions that
speak of a mask, of pads or of what is valid, are left alone.

## References
- transformers, the example `run_ner.py`, which takes -100 out
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.ignored_in_scores import counted_ignored
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA931", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each metric that leaves nothing out."""
    for one in counted_ignored(index(sources.program)):
        yield Finding(
            (one.compared.where, one.filled.where),
            "labels are filled up with -100, and this metric compares all of them",
            evidence={"compared": one.compared.text, "filled": one.filled.text},
        )
