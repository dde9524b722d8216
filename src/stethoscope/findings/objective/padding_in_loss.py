"""Pads, void labels or invalid pixels count in the loss like real ones.

## What it checks
What a loss is computed from is followed back through the batch into the data set or the collate function.
Where sequences are padded there to one length, and nothing between the batch and the loss could take the
pads out (`ignore_index`, a mask, lengths, a comparison with the pad), the loss contains them. An
`ignore_index` of another number than the labels are padded with takes nothing out. The same holds for labels
that are marked to be ignored and replaced by the first class before the loss, and for a mask of validity that
is multiplied with the target and not with the prediction. A mean over the losses of all labels, those that
are left out included, divides by the pads: `cross_entropy(.., ignore_index=0, reduction="none").mean()`.

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

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.masked_means import left_out_of_mean
from stethoscope.program.edits.padding_edits import (
    filled_with,
    ignored_by_loss,
    kept_to_be_ignored,
    marked_in_labels,
)
from stethoscope.program.objective.padding import DILUTED, ONE_SIDED, TOKENS, VOID, PaddedLoss
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.padding import PaddingInLoss

RULE = Rule(code="OBJ105", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

SAID = {
    TOKENS: "the sequences are padded in line {line}, and nothing takes the pads out of this loss",
    VOID: "labels to be ignored become the first class in line {line}, and count in this loss",
    DILUTED: "labels that are left out (line {line}) count as zeros in this mean, which divides by all",
    ONE_SIDED: "only the target is masked (line {line}): elsewhere the prediction is held to zero",
}


def examine(padding: PaddingInLoss) -> Iterator[Finding]:
    """Report each padding of sequences that reaches a loss."""
    for padded in padding.seen.reaching:
        if padded.kind in SAID:
            yield Finding(
                where=tuple(dict.fromkeys((padded.loss.where, padded.made.where, padded.sink.where))),
                message=SAID[padded.kind].format(line=padded.made.where.line),
                evidence={"loss": padded.loss.text, "made": padded.made.text, "backward": padded.sink.text},
                fix=_fix(padded),
            )


def _fix(padded: PaddedLoss) -> Fix | None:
    """The pads told to the loss, or marked in the labels of a model that computes its loss itself."""
    made, loss = padded.made, padded.loss
    if padded.kind == VOID:
        splices = kept_to_be_ignored(made, loss)
    elif padded.kind == TOKENS:
        splices = ignored_by_loss(made, loss) or (marked_in_labels(made) if _is_of_model(loss) else ())
        splices = splices or left_out_of_mean(made, loss, filled_with(made.node))
    else:
        return None
    return Fix("leave the pads out of the loss", Level.UNSAFE, splices) if splices else None


def _is_of_model(loss: Site) -> bool:
    """`model(**batch)`, or labels that a trainer hands to its model."""
    node = loss.node
    if not isinstance(node, ast.Call):
        return False
    return any(word.arg is None for word in node.keywords) or "input_ids" in loss.text
