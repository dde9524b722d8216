"""One optimizer step as the host knows it, and which quantities are measured how often.

loss, loss/<part>     each step, as the loop gave them; the mean over the batches of one step
grad_norm             each step, before clipping
input                 each step on a CPU, behind bad steps on a GPU: 0.0, or NaN where a floating-point input
                      held something that is not finite
loss_scale, skipped   each step; skipped is 1.0 where the weights stayed as they were
lr                    each step, of the first group
step_time, data_time  each step, in seconds
update_ratio          now and then: size of the last change of the weights over their size
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Measured now and then: for these NaN stands for "not measured", and what is not finite is infinity.
SPARSE = frozenset({"update_ratio"})


@dataclass(frozen=True, slots=True)
class Observation:
    """The quantities of one step by their canonical names; what was not measured is absent.

    `step` counts optimizer steps from 0, skipped ones included; `wall` is Unix time. A value may be NaN or
    infinite: that is what was seen.
    """

    step: int
    wall: float
    values: Mapping[str, float]

    @property
    def skipped(self) -> bool:
        """Whether the weights stayed as they were."""
        return self.values.get("skipped", 0.0) != 0.0
