"""The answer for one sample depends on the other samples of its batch.

## What it checks
The networks that the training makes are computed on small arrays, with the program's own sizes and
weights drawn at random. One sample of the input is changed: no answer for another sample may change.
Dropout is off and batch norm uses what it kept.

## Why it matters
Attention, a softmax, a norm or a recurrence that runs along the batch, or a `view` that cuts across it,
tells samples of each other. The network learns from what will not be there in use, and each answer is
partly noise.

## When it is harmless
Networks that say how samples relate (contrastive tables, the standard deviation over a batch that some
discriminators see), graphs whose nodes are one input, and sequences that come time first: nothing is said
of those, nor where a network cannot be computed.

## References
- torch.nn.MultiheadAttention, `batch_first`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD870", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report networks whose samples reach each other."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        if _is_mixed(trial) and not _compares_samples(trial):
            samples = trial.fitting.arrays[0].shape[0]
            yield Finding(
                (trial.forward.where(),),
                f"{trial.cls.name}: changing one of {samples} samples changes the answers for the others",
                evidence={"network": trial.cls.name},
            )


def _is_mixed(trial: Trial) -> bool:
    """Whether samples reach each other, and the first axis is surely that of the samples."""
    samples, places = trial.mixes
    if not samples:
        return False
    kind, first = trial.fitting.kinds[0], trial.fitting.arrays[0]
    if kind == "picture" or kind == "signal":
        return True
    if kind == "vector":
        # Attention over rows that were fed without a batch: the rows are places of one sample.
        return len(trial.fitting.kinds) == 1 and not (trial.pairs or trial.pools_rows)
    if places is None:  # the first axis is left, and the second was summed up
        return len(trial.sizes[0]) < 3 or trial.sizes[0][1] != first.shape[1]
    # Both are left: samples are told by reaching no further where places reach each other too, or by where
    # the positions are told.
    return places or trial.told == (False, True)


def _compares_samples(trial: Trial) -> bool:
    """Whether the network measures its batch: by its spread, by differences, or in a table of all pairs."""
    samples = trial.fitting.arrays[0].shape[0]
    return trial.measures_batch or trial.compares or (samples, samples) in trial.sizes
