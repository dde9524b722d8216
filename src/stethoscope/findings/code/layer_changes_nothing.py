"""A layer is called, and nothing that the network gives depends on it.

## What it checks
The networks that the training makes are computed on small arrays, with weights drawn at random. What each
layer with weights gives is shaken in turn: something of what comes out of the network has to change.

## Why it matters
What the layer computes is thrown away or overwritten, its weights get no gradient, and the network is
smaller than it looks: a skip connection joined twice, a branch that is not returned, attention over one
place.

## When it is harmless
Layers that are not called for this kind of input are not reported, nor networks that keep something in
themselves while they are called, or cannot be computed.

## References
- torch.Tensor.grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD876", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report layers without influence."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        for layer in trial.idle_layers if not trial.idle_arguments else ():
            spot = layer.made_at
            if spot is not None:
                yield Finding(
                    (spot.source.where(spot.node), trial.forward.where()),
                    f"{trial.cls.name}: this {layer.kind} is called; whatever it gives, the same comes out",
                    evidence={"layer": layer.kind},
                )
