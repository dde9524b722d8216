"""How the learning rate moves: up in the warm-up, then down to its floor."""

import math


class Schedule:
    def __init__(self, settings, updates):
        self.kind, self.warmup, self.floor = settings.kind, settings.warmup, settings.floor
        self.updates = updates

    def factor(self, update):
        """The share of the rate that an update is made with."""
        if update < self.warmup:
            return (update + 1) / self.warmup
        if self.kind == "constant":
            return 1.0
        done = (update - self.warmup) / max(1, self.updates - self.warmup)
        done = min(1.0, done)
        if self.kind == "linear":
            return 1.0 - (1.0 - self.floor) * done
        return self.floor + (1.0 - self.floor) * 0.5 * (1.0 + math.cos(math.pi * done))
