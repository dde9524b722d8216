"""Nothing leads past the attention of a network: what stands at a place is lost in an average of all.

## What it checks
Networks with attention in several places, one behind the other, that give an answer for each place of a
sequence. They are made and filled as the program does it, and one place of random inputs is changed after
the other: the answer at a place must depend more on what stands there than on what stands elsewhere.

## Why it matters
Attention that has learned nothing looks at all places alike. Where its answer is added to what it was asked
with, each place keeps what it had; where it replaces it, all places hold the same average after one block,
and the next one has nothing to tell them apart by. Gradients for what stands at a place go the same way: they
vanish in the averages. The loss falls to what the frequencies of words alone allow, and hardly below.

## When it is harmless
One attention behind a recurrent network, or of a decoder over an encoder, replaces nothing that is needed.
Networks that answer for the whole sequence, and queries that are learned, are not judged.

## References
- Dong, Cordonnier and Loukas, "Attention is not all you need: pure attention loses rank doubly exponentially
  with depth", 2021
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.beginnings import beginnings
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD891", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

NO_MORE = 1.5  # times as much as another place: with a shortcut it is four times and more


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report networks in which a place tells its answer no more than any other place does."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for beginning in beginnings(index(sources.program), tree):
        if beginning.own is None or not beginning.in_series or beginning.own >= NO_MORE:
            continue
        spots = [one.spot.source.where(one.spot.node) for one in beginning.scores]
        yield Finding(
            (beginning.trial.forward.where(), *spots),
            f"{beginning.trial.cls.name}: what stands at a place changes its answer "
            f"{beginning.own:.2g} times "
            "as much as what stands at another one, before anything is learned",
            evidence={"own": beginning.own},
        )
