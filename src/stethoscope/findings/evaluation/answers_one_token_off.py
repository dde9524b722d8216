"""Each answer of a causal language model is held against the token that it was made from.

## What it checks
The `compute_metrics` of a trainer with a causal language model, together with what prepares its outputs and
the functions they call: whether the likeliest tokens are compared with the labels, the ignored ones left out,
and neither side is moved by one place.

## Why it matters
At each place a causal model predicts the next token, and the trainer hands out logits and labels as they
are: the loss moves them inside the model. Unmoved, the metric asks how often two neighbouring tokens are
equal. It is near zero and hardly moves while the loss falls.

## When it is harmless
Slices `[:, :-1]` and `[:, 1:]`, a roll, a function that speaks of a shift, and generated texts that are
decoded. Masked and encoder-decoder models predict each place itself.

## References
- transformers, the language-modelling example `run_clm.py`, which moves both sides
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.unshifted_answers import unshifted_answers
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each metric of a causal model whose two sides are never moved."""
    for one in unshifted_answers(index(sources.program)):
        yield Finding(
            (one.compared.where, one.chosen.where, one.model.where),
            "the answers of a causal model are compared with the labels at the same place,"
            " and each is about the next one",
            evidence={"compared": one.compared.text, "model": one.model.text},
        )
