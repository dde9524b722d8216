"""Training draws the same random numbers in every round.

## What it checks
Whether a training loop, or an evaluation inside it, sets the seed of everybody's random numbers to the same
number each time it comes by, or makes itself a generator from one number; whether each round takes the first
batch of a loader or a stream that keeps its order; and whether the items of training data set the seed to one
number, or to one of a few.

## Why it matters
What is drawn behind the seed is what was drawn the last time: the order of an epoch, the crop, the dropped
units, the noise. An evaluation that seeds so lets the next epoch begin with the shuffle of the one before.
The first batch of a loader in order is one batch for ever. Items that seed alike are cropped and turned
alike, in every epoch.

## When it is harmless
What an evaluation seeds is only noted: its own scores are the better for it. A seed that counts along
(`seed + epoch`), a generator of its own, and a seed whose effect is put back (`fork_rng`) leave training
its chance. A loader that shuffles gives another first batch each time. Items with a seed of their own
(`seed + index`) are made up the same way each time, as toy data are, and differ from each other.

## References
- torch.random.fork_rng
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.data.repeated_chance import (
    first_batches,
    generators_again,
    seeds_again,
    seeds_in_steps,
    streams_begun_again,
)
from stethoscope.program.data.seeded_items import seeded_items
from stethoscope.program.data.unmoved_rounds import unmoved_rounds
from stethoscope.signals.evaluations import Evaluations
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT141", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations, loaders: TrainingLoaders | None) -> Iterator[Finding]:
    """Report seeds that are set again, and loaders that are begun again."""
    seen: set[object] = set()
    for loader in loaders or ():
        for item in seeded_items(loader):
            if item.seed not in seen:
                seen.add(item.seed)
                seed = ast.unparse(item.seed)
                yield Finding(
                    (item.source.where(item.seed), item.source.where(item.drawn)),
                    f"`{seed}` is set for every item of the training data: all draw the same behind it",
                    evidence={"seed": seed},
                )
    for rounds in unmoved_rounds(evaluations.index):
        yield Finding(
            (rounds.seeded.where, rounds.begun.where),
            f"chance is seeded by {rounds.name}, which nothing ever counts up: every round draws the same",
            evidence={"seed": rounds.seeded.text},
        )
    for walk in evaluations.hooks:
        for told in seeds_in_steps(walk):
            if told.site.node not in seen:
                seen.add(told.site.node)
                yield Finding(
                    told.site.where,
                    f"`{told.site.text}` comes by with every batch: what is drawn behind it is the same",
                    evidence={"seed": told.site.text},
                )
    if not evaluations.walks and not evaluations.hooks:
        raise InsufficientData("no training was found in the source")
    for walk in evaluations.walks:
        for again in seeds_again(walk):
            if again.seed.site.node not in seen:
                seen.add(again.seed.site.node)
                yield Finding(
                    (again.seed.site.where, again.loop.source.where(again.loop.node)),
                    f"`{again.seed.site.text}` comes by in every round: what is drawn behind it is the same",
                    evidence={"seed": again.seed.site.text},
                    severity=Severity.NOTE if again.aside else None,
                    strength=0.5 if again.aside else 1.0,
                )
        for made in generators_again(walk):
            if made.site.node not in seen:
                seen.add(made.site.node)
                yield Finding(
                    made.site.where,
                    f"`{made.site.text}` is made anew in every round: each draws the same numbers",
                    evidence={"seed": made.site.text},
                )
        for drawn, begun in first_batches(walk):
            if drawn.site.node not in seen:
                seen.add(drawn.site.node)
                yield Finding(
                    (drawn.site.where, begun.where),
                    "each round takes the first batch of a loader in order: it is always the same",
                    evidence={"drawn": drawn.site.text},
                )
        for drawn, begun in streams_begun_again(walk):
            if drawn.site.node not in seen:
                seen.add(drawn.site.node)
                yield Finding(
                    (begun.where, drawn.site.where),
                    f"`{begun.text}` begins again before every update: each learns from its first batches",
                    evidence={"drawn": drawn.site.text},
                )
