"""A dataset changes its samples where it keeps them.

## What it checks
What `__getitem__` takes out of a list or an array of the dataset and changes without a copy: in place
(`image -= self.mean`, `tokens[drawn] = mask`, `wave.add_(noise)`), or by an entry that is computed from
itself (`sample["image"] = self.augment(sample["image"])`).

## Why it matters
An item of a list or of an array is no copy. Every epoch begins with what the last one left: pictures are
normalised again and again, noise and masks pile up, and after some epochs the inputs have nothing to do with
their labels. The loss falls at first and rises or stands still later.

## When it is harmless
Changes that are the same when done twice (a conversion, a limit, a fixed value) are not reported, nor is what
was copied first. Files, memory maps and the datasets of libraries hand out copies. With worker processes that
end with each epoch the store is fresh in the next one, and only repeats within an epoch are touched.

## References
- numpy: an integer as an index gives a view
- torch.from_numpy shares its memory with the array
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.changed_in_store import changed_in_store
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT400", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each sample that is changed in the store."""
    for one in changed_in_store(index(sources.program)):
        yield Finding(
            (one.source.where(one.changed), one.source.where(one.taken)),
            f"`{_shown(one.changed)}` changes what lies in `{one.store}`: `{one.name}` is no copy of it, and "
            "the next epoch draws the changed sample",
            evidence={"store": one.store, "change": _shown(one.changed)},
        )


def _shown(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]
