"""How the attention that the source writes out is scaled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.weights.attention_scales import Attention, attentions
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class AttentionScales:
    """Every softmax over products of queries and keys that the source writes out."""

    attentions: tuple[Attention, ...]

    def __iter__(self) -> Iterator[Attention]:
        return iter(self.attentions)


def measure(run: Run) -> AttentionScales | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = attentions(run.program)
    if not found:
        return Missing("no attention is written out in the source")
    return AttentionScales(found)
