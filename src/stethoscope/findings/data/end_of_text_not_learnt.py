"""The end of a text is masked out of the loss together with the padding.

## What it checks
The tokenizer's pad token is set to its end-of-text token, and a language-model collator that masks pads
(`DataCollatorForLanguageModeling(..., mlm=False)`) makes the labels.

## Why it matters
The collator gives every pad the label that the loss ignores, and by its number the end of a text is a pad.
So the model is never told where to stop; it may have learnt that before, or it talks on.

## When it is harmless
Where nobody generates with the model, where a template ends a turn with another token, or where the model
knew its end token before and keeps it. That is why this is a note.

## References
- `transformers.DataCollatorForLanguageModeling`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Source
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT150", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

COLLATOR = "DataCollatorForLanguageModeling"


def examine(sources: Sources) -> Iterator[Finding]:
    """Report the assignment where a collator that masks pads is made."""
    makers = [(source, node) for source in sources if COLLATOR in source.text for node in _collators(source)]
    if not makers:
        return
    for source in sources:
        for node in all_nodes(source.tree):
            if isinstance(node, ast.Assign) and _is_end_as_pad(node):
                yield Finding(
                    (source.where(node), makers[0][0].where(makers[0][1])),
                    "the pad token is the end-of-text token, and the collator masks it: no end of a text "
                    "is learnt",
                    {"assignment": ast.unparse(node)},
                )


def _collators(source: Source) -> Iterator[ast.Call]:
    for node in all_nodes(source.tree):
        if isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] == COLLATOR:
            masked = {word.arg: word.value for word in node.keywords}.get("mlm")
            if isinstance(masked, ast.Constant) and masked.value is False:
                yield node


def _is_end_as_pad(node: ast.Assign) -> bool:
    value = dotted(node.value) or ""
    ends = ("eos_token", "eos_token_id")
    pads = [(dotted(target) or "").rpartition(".")[2] for target in node.targets]
    return value.rpartition(".")[2] in ends and any(name in {"pad_token", "pad_token_id"} for name in pads)
