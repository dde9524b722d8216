"""Inputs and labels are put into two different random orders.

## What it checks
Statements that mix arrays, lists or tables: `random.shuffle(x)`, `x = x[torch.randperm(n)]`, `df =
df.sample(frac=1)`. Where an input and the target of the same name (`x_train` and `y_train`, `self.images`
and `self.labels`) are mixed by two draws, and no generator is seeded anew between them, it is reported. So
is a loop, or a `TensorDataset`, that picks the one by a drawn order and takes the other as it lies, and code
that sorts or mixes the inputs alone: `x = x[order]` beside `y`, or rows of a table that are sorted once the
labels are taken out.

## Why it matters
Every input then has the label of another one. The loss falls to what a guess costs and stays there, on
training data too, and no rate or architecture helps.

## When it is harmless
One order for both, or the same seed before each. Sets that are not paired, as of two domains, are called
otherwise.

## References
- sklearn.utils.shuffle, which takes several arrays
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.columns_apart import columns_apart
from stethoscope.program.data.drawn_each import drawn_each
from stethoscope.program.data.listings_apart import listings_apart
from stethoscope.program.data.parted_pairs import mixed_apart, picked_apart
from stethoscope.program.data.reordered_alone import reordered_alone
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT201", since="0.3", severity=Severity.CRITICAL, subject=Subject.SOURCE)


# How each kind of pair is told, by the names of its two sides.
TOLD = (
    (mixed_apart, "`{}` and `{}` belong together and are put into two different random orders"),
    (picked_apart, "`{}` is picked by a drawn order, and `{}`, which belongs to it, is taken as it lies"),
    (reordered_alone, "`{}` is put into another order, and `{}`, which belongs to it, stays as it lies"),
    (columns_apart, "`{}` is given back in another order than `{}`, which comes from the same samples"),
    (drawn_each, "`{}` and `{}` belong together and are each picked by a draw of their own"),
    (listings_apart, "`{}` is sorted and `{}`, whose files belong to it, is in the order of the disk"),
)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pair whose sides are put into two orders."""
    known = index(sources.program)
    for pairs, told in TOLD:
        for pair in pairs(known):
            yield Finding(
                (pair.first.where, pair.second.where),
                told.format(*pair.names),
                evidence={"first": pair.first.text, "second": pair.second.text},
            )
