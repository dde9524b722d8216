"""What else was going on around a step: what the judges of the loss ask before they blame the weights."""

from __future__ import annotations

from typing import NamedTuple

from stethoscope.guard.judges import learning_rate
from stethoscope.guard.judges.gradient_spikes import Gradients
from stethoscope.guard.judges.learning_rate import Rate
from stethoscope.guard.judges.loss_scale import Scale
from stethoscope.guard.judges.non_finite import NonFinite

NEAR = 16  # steps around an onset in which something else may have caused it
RESTART = 64  # steps for which a restarted learning rate is expected to raise the loss


class Around(NamedTuple):
    """The other judges' states at the same step."""

    rate: Rate
    gradients: Gradients
    non_finite: NonFinite
    scale: Scale

    def restarted(self, onset: int) -> bool:
        """Whether a schedule raised the learning rate again shortly before, to where it had been."""
        return learning_rate.leapt_since(self.rate, onset - RESTART) and not self.rate.beyond

    def is_quiet(self, onset: int) -> bool:
        """Whether nothing seen explains a change: same learning rate, ordinary gradients, all finite.

        With ordinary gradients in the steps before, the weights cannot have moved far at the onset.
        """
        if learning_rate.leapt_since(self.rate, onset - NEAR):
            return False
        if any(at >= onset - NEAR for at in self.non_finite.recent):
            return False
        if self.scale.changes and self.scale.changes[-1][0] >= onset - NEAR and len(self.scale.changes) > 1:
            return False
        return self.gradients.spiked is None or not onset - NEAR <= self.gradients.spiked < onset
