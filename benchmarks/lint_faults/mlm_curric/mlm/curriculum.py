from __future__ import annotations

from .settings import CurriculumSettings


class Curriculum:
    """Length and masking ratio of the training windows grow linearly with the step."""

    def __init__(self, cfg: CurriculumSettings, max_length: int) -> None:
        self.cfg, self.max_length = cfg, max_length

    def at(self, step: int) -> tuple[int, float]:
        done = min(1.0, step / max(1, self.cfg.ramp_steps))
        length = self.cfg.start_length + done * (self.max_length - self.cfg.start_length)
        ratio = self.cfg.start_ratio + done * (self.cfg.end_ratio - self.cfg.start_ratio)
        return 8 * int(length // 8), ratio

    def final(self) -> tuple[int, float]:
        return self.max_length, self.cfg.end_ratio
