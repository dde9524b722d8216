"""A mask of attention marks the opposite of what it is used for.

## What it checks
Masks whose making is in sight (`tril`, `triu`, a comparison with the padding, a tokenizer's
`attention_mask`) where they are used: `masked_fill` and `torch.where` with minus infinity, the padding masks
of torch's attention, which leave out what is true, and boolean masks of `scaled_dot_product_attention`,
which look at what is true. The padding masks of torch's layers are also followed to where they are made,
through arguments, collate functions and data sets: comparisons, places below the lengths, rows that are
filled up to their length.

## Why it matters
Turned round, a causal mask shows a network the future and hides the past, and a padding mask makes it attend
to nothing but padding. Training goes on: the loss falls to what can be told without the input, or far below
what is possible.

## When it is harmless
Masks of other shapes (bands, blocks, the diagonal) and masks that are added as numbers are left alone, as is
whatever was made where it cannot be seen.

## References
- torch.nn.MultiheadAttention, key_padding_mask; torch.nn.functional.scaled_dot_product_attention, attn_mask
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.weights.followed_paddings import turned_paddings
from stethoscope.program.weights.mask_polarity import TurnedMask, turned_masks
from stethoscope.run import Fix, Level
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ223", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each mask that is used the wrong way round."""
    program = index(sources.program)
    tree = settings_tree(settings.recipe if settings is not None else None)
    found = [*turned_masks(program), *turned_paddings(program, tree)]
    for one in {id(one.mask): one for one in found}.values():
        what = "the padding" if one.is_padding else "what comes later"
        yield Finding(
            (one.source.where(one.mask), one.source.where(one.used)),
            f"`{' '.join(ast.unparse(one.mask).split())[:80]}` leaves attention nothing but {what}",
            evidence={"padding": one.is_padding},
            fix=_turned(one),
        )


def _turned(one: TurnedMask) -> Fix | None:
    """The comparison turned round, where the mask is one."""
    match one.mask:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[right]):
            sign = "!=" if isinstance(operator, ast.Eq) else "=="
            splice = replaced(one.source, one.mask, f"{ast.unparse(left)} {sign} {ast.unparse(right)}")
            return Fix("mark the other places", Level.UNSAFE, (splice,)) if splice is not None else None
    return None
