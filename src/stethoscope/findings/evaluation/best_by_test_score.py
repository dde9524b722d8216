"""The checkpoint kept as the best is the one that scores best on the test data.

## What it checks
Saves under a comparison with the best score so far: whether that score is measured on what the program calls
its test data, although it has a loader or a set of data to choose by (`val`, `dev`).

## Why it matters
The best of many scores on the test data is partly luck on just those data. What is reported in the end is
this score, and new data will not give it. The part that was set aside for the choice lies unused.

## When it is harmless
A program with training and test data alone, as is custom on small benchmarks. Test scores that are written
down beside the choice. Names say which part is meant; where they do not, nothing is said.

## References
- Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 7.2
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.chosen_by_test import chosen_by_test
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA830", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each choice by the test data."""
    seen: set[ast.AST] = set()
    for walk in evaluations.walks:
        for one in chosen_by_test(walk):
            if one.comparison.node in seen:
                continue
            seen.add(one.comparison.node)
            yield Finding(
                (one.comparison.where, one.measured.where, one.set_aside.where),
                f"the best is chosen by `{one.measured.text[:60]}`,"
                f" and `{one.set_aside.text}` was made to choose by",
                evidence={"measured": one.measured.text, "set aside": one.set_aside.text},
            )
