"""The curriculum: corruption is gentle at first and reaches full strength after `preschool_time`."""

import math
from types import SimpleNamespace

LEAST = 0.1  # of the full noise, at the first step


class Curriculum:
    """Says what share of the noise is used at a step."""

    def __init__(self, curriculum: SimpleNamespace) -> None:
        self.enabled = curriculum.enabled
        self.preschool_time = curriculum.preschool_time
        self.difficulty_ramp = curriculum.difficulty_ramp

    def difficulty(self, step: int) -> float:
        """The share of the full noise at `step`, between `LEAST` and 1."""
        if not self.enabled:
            return 1.0
        progress = step / self.preschool_time
        if self.difficulty_ramp == "exponential":
            factor = min(1.0, 1 - math.exp(-3 * progress))
        elif self.difficulty_ramp == "cosine":
            factor = 0.5 * (1 - math.cos(math.pi * min(1.0, progress)))
        else:
            factor = min(1.0, progress)
        return LEAST + (1 - LEAST) * factor
