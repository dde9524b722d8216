"""The network is given the very tokens that it has to predict.

## What it checks
Cross entropies in training: whether the target, but for its layout, is one of the values that the network was
given, cut in the same way. A causal model's target lies one token further than its input. Functions that
make samples are looked at too: a window that is its own target, or whose end is; and tables whose column of
answers is still there where the inputs are made of what is left.

## Why it matters
The network learns to copy. The loss falls to nearly nothing within a few hundred steps, faster than any
language allows, and what is generated is the same token for ever.

## When it is harmless
Autoencoders give back what they get, through a bottleneck; masked and denoising models get a damaged copy,
which is another value; some networks move their target by themselves. Nothing is said where the network or
the function that trains it speaks of any of these, or where the network is not in sight.

## References
- Radford et al., "Improving language understanding by generative pre-training", 2018: the objective
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.answer_columns import answer_columns
from stethoscope.program.data.answers_in_items import answers_in_items
from stethoscope.program.index import index
from stethoscope.program.objective.own_input import given_its_target
from stethoscope.signals.loss_calls import LossCalls
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ216", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, losses: LossCalls | None) -> Iterator[Finding]:
    """Report each cross entropy with what the network was given."""
    for call in losses or ():
        if (given := given_its_target(call)) is not None:
            yield Finding(
                (call.site.where, given.where),
                f"the target of {call.loss} is given to the network as well: it need only copy it",
                {"loss": call.site.text, "network": given.text},
            )
    for item in answers_in_items(index(sources.program)):
        part = "all" if item.is_all else "the end"
        yield Finding(
            (item.source.where(item.asked), item.source.where(item.given)),
            f"the target of these samples is {part} of what the network is given",
            {"given": ast.unparse(item.given), "asked": ast.unparse(item.asked)},
        )
    for kept in answer_columns(index(sources.program)):
        yield Finding(
            (kept.inputs.where, kept.answer.where),
            f"{kept.column!r} is the answer and stays among the columns of the inputs",
            {"column": kept.column},
        )
