"""Going back: snapshots while a run is well, a return to the last good one when it is not, a slower rate.

Data go on from where they are, so what spoiled the run is not met again; the learning rate comes back slowly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import nn
from torch.optim import Optimizer

from stethoscope.guard.checkpoints import Saved
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.policy import Policy
from stethoscope.guard.rewind.rewinding import SlowedState, after_rewind, factor
from stethoscope.guard.rewind.snapshots import Parts, Snapshot, Snapshots

KEPT = 8  # snapshots, where memory allows
# Steps between two snapshots of so many bytes: copying them must not show.
CADENCES = ((64 << 20, 50), (1 << 30, 200))
SELDOM = 500
# Steps to go back before an onset, as what spoils a run begins before it shows; of a young run a share of it.
LEAST_BACK = 100
LEAST_SHARE = 0.1
LEAST_RAMP = 100  # steps; a young run gets its learning rate back sooner


class Returning:
    """The snapshots of a run, and how slowed it is since it went back."""

    def __init__(
        self,
        model: nn.Module | None,
        optimizers: Sequence[Optimizer],
        scaler: Any,
        schedule: Any,
        ema: Any,
        policy: Policy,
    ) -> None:
        self._policy = policy
        self._slowed: SlowedState | None = None
        self._snapshots: Snapshots | None = None
        self._every = 1
        self.trouble: Happening | None = None
        if policy.rewind and policy.protects:
            parts = Parts.of(model, optimizers, scaler=scaler, schedule=schedule, ema=ema)
            self._snapshots = Snapshots(parts, policy.snapshot_bytes, KEPT)
            self._every = policy.snapshot_steps or _cadence(self._snapshots.bytes_each)
            if self._snapshots.too_large:
                self.trouble = _cannot(self._snapshots.too_large)
                self._snapshots = None

    def rate_factor(self, step: int) -> float:
        """What the learning rate is multiplied by at a step."""
        return factor(self._slowed, step)

    def before(self, step: int) -> None:
        """Take a snapshot where one is due; the weights are those before this step."""
        if self._snapshots is None or step % self._every:
            return
        if not self._snapshots.take(step) and self._snapshots.too_large:
            self.trouble = _cannot(self._snapshots.too_large)
            self._snapshots = None

    def good_steps(self) -> tuple[int, ...]:
        """The steps that this process could go back to."""
        return () if self._snapshots is None else self._snapshots.good_steps()

    def go_back(
        self,
        onset: int,
        step: int,
        common: Collection[int] | None = None,
        saved: Saved | None = None,
    ) -> Happening:
        """Go back to the last good snapshot before an onset, or say why not.

        `common` are the steps that all ranks can go back to; `saved` is the last checkpoint from before.
        """
        good = self._target(onset, common)
        if good is None or self._snapshots is None:
            return _could_not(onset, step, saved)
        left = self._snapshots.restore(good)
        ramp = min(self._policy.ramp_steps, max(LEAST_RAMP, step))
        self._slowed = after_rewind(self._slowed, step, self._policy.rewound_rate, ramp)
        return Happening(
            Kind.REWOUND,
            step,
            Severity.WARNING,
            f"Went back to the weights, optimizer and schedule of step {good.step}.",
            f"The data go on from here; the learning rate is {self._slowed.rate:g} times the loop's own"
            + (" for good." if self._slowed.for_good else f" and back after {ramp} steps."),
            facts={"to_step": good.step, "onset": onset, "not_restored": list(left)},
            onset=onset,
        )

    def _target(self, onset: int, common: Collection[int] | None) -> Snapshot | None:
        """The last snapshot well before an onset; the last before it at all where the run is still young."""
        if self._snapshots is None:
            return None
        steps = [step for step in self._snapshots.good_steps() if common is None or step in common]
        back = min(LEAST_BACK, LEAST_SHARE * onset)
        early = [step for step in steps if step <= onset - back] or [s for s in steps if s <= onset]
        return self._snapshots.at(max(early)) if early else None

    def state_dict(self) -> dict[str, Any]:
        """How slowed the run is."""
        return {"slowed": None if self._slowed is None else self._slowed.to_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on as before."""
        slowed = state["slowed"]
        self._slowed = None if slowed is None else SlowedState.from_state(slowed)


def _cadence(size: int) -> int:
    return next((steps for most, steps in CADENCES if size <= most), SELDOM)


def _cannot(why: str) -> Happening:
    """Said beforehand, while there is time to do something about it."""
    return Happening(
        Kind.CANNOT_REWIND,
        0,
        Severity.WARNING,
        why,
        "No snapshots are taken: where the run blows up, Guard names the last good checkpoint instead.",
        "raise snapshot_bytes in Guard's Policy if the host has the memory; save checkpoints by guard.save.",
    )


def _could_not(onset: int, step: int, saved: Saved | None) -> Happening:
    facts: dict[str, object] = {} if saved is None else {"checkpoint": str(saved.path), "to_step": saved.step}
    known = (
        "No checkpoint from before is known."
        if saved is None
        else f"The last good checkpoint is {saved.path}: it was finite, and is of step {saved.step}."
    )
    return Happening(
        Kind.CANNOT_REWIND,
        step,
        Severity.WARNING,
        f"There is no good snapshot from before step {onset} to go back to. {known}",
        "The run goes on as it is.",
        "stop the run, and go on from a checkpoint from before that step with a lower learning rate."
        if saved is None
        else f"stop the run, and go on from {saved.path.name} with a lower learning rate.",
        facts=facts,
        onset=onset,
    )
