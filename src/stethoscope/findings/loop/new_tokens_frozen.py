"""Tokens are added, and their embeddings are never trained.

## What it checks
Programs that add tokens to a tokenizer, let the embedding grow for them, and train peft's LoRA alone: whether
anything has the embedding trained as well (`modules_to_save`, `trainable_token_indices`, the embedding or the
head among the target modules, gradients that are switched on by hand).

## Why it matters
The rows of the new tokens are made at random, or all alike, and stay so. The network can neither tell the
new tokens apart nor ever answer with one.

## When it is harmless
A token for padding only, which no loss sees. Where the settings of the adapters are not written out, or
anything in the program or its settings speaks of the embedding, nothing is reported.

## References
- peft.LoraConfig: modules_to_save, trainable_token_indices
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.untrained_tokens import untrained_tokens
from stethoscope.run import Recipe
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP874", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report tokens that come into the vocabulary and not into training."""
    recipe = settings.recipe if settings is not None else Recipe()
    for one in untrained_tokens(index(sources.program), recipe):
        yield Finding(
            (one.adapters.where, one.resized.where, one.added.where),
            "the embedding grows for new tokens, and only adapters are trained: the new rows stay as made",
            evidence={"adapters": one.adapters.where.line},
        )
