"""A sampler draws among the classes where it should draw among the samples.

## What it checks
The `WeightedRandomSampler` of each training loader: whether its weights are one for each class
(`1 / bincount`, `value_counts`, `compute_class_weight`, a list over a `Counter`), and nothing looked them up
by the labels.

## Why it matters
The sampler draws the places of its weights. With ten classes it hands out the first ten samples again and
again, as often as `num_samples` says, and training never sees another one. It learns those by heart.

## When it is harmless
Weights that are looked up by the label of every sample, as in `weights[labels]`, and those of
`compute_sample_weight`. Where it cannot be seen how many weights there are, nothing is said.

## References
- torch.utils.data.WeightedRandomSampler: "a sequence of weights, not necessarily summing up to one"
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.weights_of_classes import weights_of_classes
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT800", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report each sampler that is given weights of classes."""
    for loader in loaders:
        found = weights_of_classes(loader)
        if found is not None:
            sampler, counted = found
            yield Finding(
                (sampler.where, counted.where),
                f"`{sampler.text[:60]}` gets one weight for each class: it draws the first few samples only",
                evidence={"sampler": sampler.text, "counted": counted.text},
            )
