"""Pad tokens count in the loss like real ones.

## What it checks
What a loss is computed from is followed back through the batch into the data set or the collate function.
Where sequences are padded there to one length, and nothing between the batch and the loss could take the
pads out (`ignore_index`, a mask, lengths, a comparison with the pad), the loss contains them.

## Why it matters
Pads are easy: they are learned first, pull the loss down, and hide how the real tokens do. Batches with more
padding have lower losses, so the curve follows the lengths of the sequences; and a generative model learns to
produce pads.

## When it is harmless
Padded inputs with one label per sequence never meet the loss. A mask, `ignore_index`, labels of -100 or
packed sequences take the pads out. Where the batch could not be followed into its data set, nothing is
said.

## References
- torch.nn.CrossEntropyLoss, argument `ignore_index`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.padding import TOKENS
from stethoscope.signals.padding import PaddingInLoss

RULE = Rule(code="OBJ105", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(padding: PaddingInLoss) -> Iterator[Finding]:
    """Report each padding of sequences that reaches a loss."""
    for padded in padding.seen.reaching:
        if padded.kind == TOKENS:
            yield Finding(
                where=(padded.made.where, padded.sink.where),
                message="sequences are padded here, and nothing takes the pads out of the loss",
                evidence={"padding": padded.made.text, "backward": padded.sink.text},
            )
