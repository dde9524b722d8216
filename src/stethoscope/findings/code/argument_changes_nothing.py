"""An argument of a network is worked with, and nothing that comes out depends on it.

## What it checks
The networks that the training makes are computed on small arrays, with weights drawn at random. Each
argument is changed in turn: something of what comes out has to change.

## Why it matters
A time embedding that is computed and never added, a condition that is overwritten, an encoding that the
decoder does not read: the network cannot use what it is told, and learns an average over it.

## When it is harmless
An argument that a forward takes for the sake of a common interface and never touches is not reported. A
network that cannot be computed is not examined.

## References
- Ho et al., Denoising Diffusion Probabilistic Models, 2020, appendix B
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD875", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report arguments without influence."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        for name in trial.idle_arguments:
            yield Finding(
                (trial.forward.where(),),
                f"{trial.cls.name}: whatever `{name}` is, the same comes out",
                evidence={"argument": name, "level": _is_level(trial, name)},
            )


def _is_level(trial: Trial, name: str) -> bool:
    """Whether an argument is one number for each sample."""
    which = trial.fitting.names.index(name)
    return trial.fitting.kinds[which] in {"numbers", "levels"}
