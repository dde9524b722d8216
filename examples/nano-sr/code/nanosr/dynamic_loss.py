"""Weights that lean against short swings of each loss.

Every iteration the multiplier starts again from 1, so it never accumulates: a loss above its
running mean is weighted a little less in that iteration, one below it a little more.
"""

import logging
import math
from dataclasses import dataclass
from typing import Any

from .options import DynamicLossScheduling

logger = logging.getLogger("nano_sr")

SMOOTHING = 1 - math.exp(-1 / 10)  # a running mean over about ten iterations
LOWEST = 0.1
HIGHEST = 10.0
MAX_DEVIATION = 2.0  # a single wild batch counts no more than three times the mean


@dataclass(slots=True)
class Trend:
    """What is remembered of one loss."""

    smoothed: float
    velocity: float = 0.0


class DynamicLossScheduler:
    """Turns the losses of one iteration into one multiplier each."""

    def __init__(self, opt: DynamicLossScheduling) -> None:
        self.opt = opt
        self.trends: dict[str, Trend] = {}
        self.iteration = 0

    def __call__(self, losses: dict[str, float]) -> dict[str, float]:
        """Learn from the unweighted `losses` and return their multipliers."""
        self.iteration += 1
        if self.iteration <= self.opt.baseline_iterations:
            self._set_baseline(losses)
            return dict.fromkeys(losses, 1.0)
        return {label: self._multiplier(label, abs(value)) for label, value in losses.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        trends = {label: (trend.smoothed, trend.velocity) for label, trend in self.trends.items()}
        return {"iteration": self.iteration, "trends": trends}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up where `state_dict` left off."""
        self.iteration = state["iteration"]
        self.trends = {label: Trend(*pair) for label, pair in state["trends"].items()}

    def _set_baseline(self, losses: dict[str, float]) -> None:
        self.trends = {label: Trend(abs(value)) for label, value in losses.items()}
        if self.iteration == self.opt.baseline_iterations:
            logger.info(
                "Dynamic loss scheduler baseline established at iteration %d. Baseline loss values: %s",
                self.iteration,
                {label: round(trend.smoothed, 6) for label, trend in self.trends.items()},
            )

    def _multiplier(self, label: str, loss: float) -> float:
        trend = self.trends[label]
        smoothed = SMOOTHING * loss + (1 - SMOOTHING) * trend.smoothed
        change = smoothed - trend.smoothed
        trend.velocity = self.opt.momentum * trend.velocity + (1 - self.opt.momentum) * change
        trend.smoothed = smoothed
        deviation = (loss - smoothed) / max(smoothed, 1e-12)
        multiplier = self._lean(trend.velocity, deviation)
        return min(max(multiplier, self.opt.min_weight), self.opt.max_weight)

    def _lean(self, velocity: float, deviation: float) -> float:
        rate, threshold = self.opt.adaptation_rate, self.opt.adaptation_threshold
        if abs(velocity) > threshold:
            step = rate * min(MAX_DEVIATION, abs(deviation))
            return max(LOWEST, 1 - step) if velocity > 0 else min(HIGHEST, 1 + step)
        if abs(deviation) > threshold:
            step = rate * abs(deviation)
            return max(LOWEST, 1 - step) if deviation > 0 else min(HIGHEST, 1 + step)
        return 1.0
