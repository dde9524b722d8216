"""Samples are kept after chance has changed them, and come the same in every epoch.

## What it checks
The data sets of training loaders that hold random transforms of a library: whether what these give is put
into a store by the number of the sample and handed out from there, remembered by `lru_cache`, or made once
for all where the object is made.

## Why it matters
Augmentation is worth what it draws anew. A crop, a flip or a noise that is drawn once is one more picture of
the same kind: the network sees each sample in one form for ever, and learns it by heart.

## When it is harmless
A store of what was read and decoded, changed by chance after it is taken out. Workers that end with each
epoch forget their store; only those that persist, or a loader without workers, are judged.

## References
- torch.utils.data.DataLoader, `persistent_workers`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.kept_after_chance import kept_after_chance
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT810", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report each data set that keeps what chance gave it."""
    for loader in loaders:
        found = kept_after_chance(loader)
        if found is not None:
            yield Finding(
                (found.kept.where, found.chance.where, loader.site.where),
                f"`self.{found.name}` draws at random, and what it gave is kept: every epoch gets the same",
                evidence={"transform": found.chance.text, "kept": found.kept.text[:80]},
            )
