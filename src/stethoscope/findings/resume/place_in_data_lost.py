"""A checkpoint keeps the place in the data, and the resume begins them anew.

## What it checks
Programs that resume: whether the state of a stream, sampler or loader that is put into the checkpoint is ever
handed back, whether a class that deals out data takes back all that its own `state_dict` gives (its order,
its position, its generator), and whether a kept random state is set in a program that seeds itself.

## Why it matters
The resumed run draws the first batches again. What it has seen before lowers its loss for a while, and what
stood behind the point of the interruption is seen later or never: a short run that is resumed often never
leaves the front of its data.

## When it is harmless
An order that is drawn from the epoch and the seed alone needs no state beyond the epoch. Where data are drawn
at random with replacement, a new place is as good as the old one, as long as the seed is another.

## References
- torchdata StatefulDataLoader
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.index import Index
from stethoscope.program.resume.lost_places import (
    LostPlace,
    chance_begun_anew,
    left_out_on_loading,
    never_handed_back,
)
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES140", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each place in the data that is kept and not taken up again."""
    if not _restores_training(resumes.index):
        raise InsufficientData("nothing in the source restores an optimizer or a network")
    for lost in never_handed_back(resumes.index):
        yield Finding(
            lost.source.where(lost.kept),
            f"the checkpoint keeps the state of {lost.name}, and no resume gives it back: data begin anew",
            evidence={"kept": lost.name},
        )
    for lost in chance_begun_anew(resumes.index):
        yield Finding(
            lost.source.where(lost.kept),
            f'the checkpoint keeps the random state under "{lost.name}", and no resume sets it: a run that '
            "is seeded at its start draws the same order and augmentations again",
            evidence={"kept": lost.name},
        )
    for each in _by_class(left_out_on_loading(resumes.index)):
        names = ", ".join(f'"{lost.name}"' for lost in each)
        loading = each[0].loading
        yield Finding(
            (each[0].source.where(loading or each[0].kept), each[0].source.where(each[0].kept)),
            f"the state of the data has {names}, and loading it does not take that back",
            evidence={"kept": [lost.name for lost in each]},
        )


def _by_class(lost: Iterator[LostPlace]) -> Iterator[list[LostPlace]]:
    for _, each in itertools.groupby(lost, key=lambda one: id(one.loading)):
        yield list(each)


def _restores_training(index: Index) -> bool:
    """Whether anything gets a saved state back: a program that only saves resumes nothing."""
    sources = (module.source for module in index.modules.values() if not is_test(module.source))
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"load_state_dict", "load_state", "load_checkpoint"}
        for source in sources
        for node in all_nodes(source.tree)
    )
