"""A picture and its target are cropped or turned at random, each by itself.

## What it checks
Functions that make a sample: whether the input (`image`, `lq`) and the target (`mask`, `gt`) each go
through a random crop, flip, turn or warp of their own call. Chains of transforms are looked up where they
are made or handed in, and functions of the program are read for what they draw. And whether a picture is
mirrored by chance, or turned by a drawn amount, while masks, joints, boxes or a depth of the same sample stay
as they are.

## Why it matters
Each call draws anew. The mask then belongs to another part of the picture: the loss falls to a blur of all
positions, and the scores of training data are as bad as those of held-out data.

## When it is harmless
One call for both, parameters that are drawn once, or a generator that is set to the same seed before each.
Changes of colour or noise on the input alone move nothing. The label of a whole picture needs no move.

## References
- torchvision.transforms.v2, which takes a picture and its mask in one call
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.moved_alone import moved_alone, turned_alone
from stethoscope.program.data.parted_pairs import moved_apart
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT202", since="0.3", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pair that is moved by two draws."""
    known = index(sources.program)
    for pair in moved_apart(known):
        first, second = pair.names
        yield Finding(
            (pair.first.where, pair.second.where),
            f"`{first}` and `{second}` belong together and are cropped or turned by two random draws",
            evidence={"first": pair.first.text, "second": pair.second.text},
        )
    for pair in moved_alone(known):
        first, second = pair.names
        yield Finding(
            (pair.first.where, pair.second.where),
            f"`{first}` is mirrored by chance, and `{second}`, which says where things are in it, is not",
            evidence={"first": pair.first.text, "second": pair.second.text},
        )
    for pair in turned_alone(known):
        first, second = pair.names
        yield Finding(
            pair.first.where,
            f"`{first}` is turned by chance, and `{second}`, which says where things are in it, is not",
            evidence={"first": pair.first.text, "second": pair.second.text},
        )
