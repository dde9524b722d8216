"""What Guard may do, and when: one frozen record, made from the arguments of `Guard`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["protect", "observe"]

WINDOW = 16  # steps between two looks at a device; what is judged lags behind by at most two windows
SNAPSHOT_BYTES = 4 << 30
BOX_BYTES = 1 << 30
MOST_IN_A_ROW = 5  # skipped steps; more and the run is frozen, not protected
MOST_SHARE = 0.01  # of the last thousand steps
SCALE_FLOOR = 1.0  # below this the scaler shrinks gradients
REWOUND_RATE = 0.5  # of the learning rate after a rewind ...
RAMP_STEPS = 1000  # ... and the steps over which it comes back
MOST_REWINDS = 2  # within REWIND_SPAN steps; the next one stops the run
REWIND_SPAN = 5000


@dataclass(frozen=True, slots=True)
class Threshold:
    """Fixed bounds that a person sets on one quantity: what is beyond them is told, or stops the run."""

    warn_below: float | None = None
    warn_above: float | None = None
    stop_below: float | None = None
    stop_above: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How Guard behaves. `mode="observe"` records and warns; `mode="protect"` acts as well.

    Without further arguments protecting means: steps with gradients that are not finite never reach the
    weights, and checkpoints that are not finite never overwrite good ones. `clip_spikes` cuts a gradient that
    stands far above the running level down to it; `rewind` goes back to the last good snapshot when a spike
    lasts or the loss diverges. Snapshots are `snapshot_steps` apart, by default as the size of the model
    allows. `thresholds` are bounds by the name of a quantity ("loss_scale", "loss/l1").
    """

    mode: Mode = "protect"
    clip_spikes: bool = False
    rewind: bool = False
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    most_in_a_row: int = MOST_IN_A_ROW
    most_share: float = MOST_SHARE
    scale_floor: float = SCALE_FLOOR
    window: int = WINDOW
    snapshot_steps: int | None = None
    snapshot_bytes: int = SNAPSHOT_BYTES
    box_bytes: int = BOX_BYTES
    rewound_rate: float = REWOUND_RATE
    ramp_steps: int = RAMP_STEPS

    @property
    def protects(self) -> bool:
        """Whether Guard acts on what it sees."""
        return self.mode == "protect"
