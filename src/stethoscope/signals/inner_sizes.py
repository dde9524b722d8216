"""What the log tells of the inside of the network: the sizes of activations, scores, logits and updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.run import Run, Series
from stethoscope.signals.loss import words
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({"step": step, "act_maxabs/block_0": hidden.abs().max().item()})'

_SIZES = frozenset(
    {"max", "absmax", "maxabs", "amax", "norm", "norms", "rms", "std", "magnitude", "scale", "mean", "abs"}
)
_SCORES = frozenset({"logit", "logits", "score", "scores"})
_ATTENTION = frozenset({"attn", "attention", "qk", "att"})
_ACTIVATIONS = frozenset(
    {"act", "acts", "activation", "activations", "hidden", "resid", "residual", "hiddens"}
)
_OTHER_THINGS = frozenset(
    {"grad", "grads", "gradient", "weight", "weights", "param", "params", "lr", "loss", "time"}
)
_OF_PREFERENCES = frozenset({"chosen", "rejected", "real", "fake", "teacher", "student", "ratio", "policy"})
FEWEST = 16


class Kind(StrEnum):
    """What a series tells of."""

    ACTIVATION = "activation"
    ATTENTION_SCORE = "attention score"
    ATTENTION_ENTROPY = "attention entropy"
    OUTPUT_LOGIT = "output logit"
    UPDATE_SIZE = "update size"


@dataclass(frozen=True, slots=True, eq=False)
class InnerSizes:
    """The series of each kind, those long enough to have a course."""

    series: Mapping[Kind, tuple[Series, ...]]

    def of(self, kind: Kind) -> tuple[Series, ...]:
        """The series of one kind."""
        return self.series.get(kind, ())


def measure(run: Run) -> InnerSizes | Missing:
    """Sort the series by the words that their names are made of."""
    found: dict[Kind, tuple[Series, ...]] = {}
    for one in run.series.values():
        kind = kind_of(one.logged_as)
        finite = one.finite()
        if kind is not None and len(finite) >= FEWEST:
            found[kind] = (*found.get(kind, ()), finite)
    return InnerSizes(found) if found else Missing("no sizes inside the network were logged", LOG_THIS)


def kind_of(name: str) -> Kind | None:
    """What a logged name tells of; None for anything else."""
    said = words(name)
    if said & _OTHER_THINGS and not said & {"z"}:
        return None
    if said & _ATTENTION and "entropy" in said:
        return Kind.ATTENTION_ENTROPY
    if said & _ATTENTION and said & _SCORES:
        return Kind.ATTENTION_SCORE
    if said & {"adam", "optim", "optimizer", "update"} and "rms" in said:
        return Kind.UPDATE_SIZE
    if said & _ACTIVATIONS and said & _SIZES:
        return Kind.ACTIVATION
    is_logit = said & {"logit", "logits", "logz", "lse"} and not said & _OF_PREFERENCES
    return Kind.OUTPUT_LOGIT if is_logit and (said & _SIZES or said & {"logz", "lse"}) else None
