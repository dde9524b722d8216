"""A target network begins as a copy, is run in the loss, and never follows the network.

## What it checks
Copies of networks (`copy.deepcopy`) that are run: whether the function that would draw them after the
network, or load its weights into them, is called from anywhere; and, where there is no such function,
whether a copy that is named as a target, a momentum encoder or an average is written to at all.

## Why it matters
A bootstrap target that stands still is a random network: value estimates never learn from later ones, and a
self-supervised network only learns to imitate its own start. An average that stands still is evaluated and
kept with the weights that training began with.

## When it is harmless
Reference models, frozen teachers and old policies are copies that should stay. A copy that is handed to code
outside of the program may be moved there; then nothing is said.

## References
- Mnih et al., Human-level control through deep reinforcement learning, 2015
- Grill et al., Bootstrap Your Own Latent, 2020
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.unfollowed_copies import unfollowed_copies
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP218", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each copy that should follow a network and does not."""
    for copy in unfollowed_copies(index(sources.program)):
        source, ran = copy.ran
        mover = copy.mover
        why = f"nothing calls {mover.name}(), which moves it" if mover else "nothing writes to its weights"
        places = (copy.source.where(copy.made), source.where(ran))
        yield Finding(
            (*places, mover.where()) if mover else places,
            f"{copy.name} begins as a copy of the network and is run, and {why}",
            evidence={"copy": copy.name, "mover": mover.name if mover else None},
        )
