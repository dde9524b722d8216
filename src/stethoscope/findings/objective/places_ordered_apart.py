"""The scores of places and the labels of these places are laid out in two orders.

## What it checks
Cross entropies over the places of sequences. The places of a batch are numbered, and what is done to the
tokens, to the scores of the network and to the labels before they are compared is computed on these numbers:
transposing, reshaping, padding with or without `batch_first`. Whether the network itself turns the axes round
is known from computing it. CTC losses take places first and samples second: scores are followed to them from
a network that was seen to take samples first.

## Why it matters
Both rows have the same length, so nothing fails. Nearly every score is held to the label of another sample or
place: the loss falls to what the frequencies of the labels give, and no further.

## When it is harmless
Where tokens and labels are laid out differently in the batch and brought together later, the numbers meet,
and nothing is said. A network of samples first may be fed with places first where it works on each place by
itself: only one in which places reach each other is judged. A network that cannot be computed is not
examined.

## References
- torch.nn.utils.rnn.pad_sequence, argument `batch_first`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.flattened_orders import ordered_apart
from stethoscope.program.objective.samples_first import samples_first
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ511", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each cross entropy whose scores meet the labels of other places."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in ordered_apart(index(sources.program), tree):
        yield Finding(
            one.site.where,
            f"`{one.scores}` and `{one.labels}` number the places of a batch in two orders: scores meet the "
            "labels of other places",
            evidence={"scores": one.scores, "labels": one.labels},
            proof="both were computed on numbered places",
        )
    for aligned in samples_first(index(sources.program), tree):
        text = " ".join(aligned.site.text.split())[:80]
        yield Finding(
            aligned.site.where,
            f"`{text}` takes places first, and {aligned.network} gives samples first",
            evidence={"network": aligned.network, "loss": text},
            proof="the network was tried on small arrays, and its scores followed to the loss",
        )
