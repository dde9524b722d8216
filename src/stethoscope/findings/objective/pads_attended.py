"""A pretrained transformer is not told which of its tokens are padding, or is told the opposite.

## What it checks
Models of transformers that look both ways (BERT and its kin, and the heads for tokens and masked words), in
programs that pad their batches: passes that get `input_ids` and no `attention_mask`. For every model of
transformers: an `attention_mask` that is one at the pads, as PyTorch's own `key_padding_mask` would be.

## Why it matters
Without a mask every token attends to the pads, so that an answer depends on how long the other texts of its
batch are. It costs some points and looks like noise. With a mask turned round the model sees nothing but
padding.

## When it is harmless
A causal model that is padded behind never looks at a pad. Texts of one length have none. A table that is
passed as a whole (`model(**batch)`) holds the mask of its tokenizer.

## References
- transformers glossary: attention mask
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.unmasked_pads import turned_marks, unmasked_pads
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ930", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pass without a mask, and each mask that marks the pads."""
    known = index(sources.program)
    for one in unmasked_pads(known):
        yield Finding(
            one.site.where,
            "padded tokens go through this model without their attention_mask: every token attends to"
            " the pads",
            evidence={"pass": one.site.text, "turned": False},
        )
    for one in turned_marks(known):
        yield Finding(
            one.site.where,
            "this attention_mask is one at the pads and zero at the tokens: the model sees nothing but"
            " padding",
            evidence={"mask": one.site.text, "turned": True},
            severity=Severity.CRITICAL,
        )
