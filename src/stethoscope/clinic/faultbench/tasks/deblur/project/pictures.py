"""Pairs of pictures, and the order in which they are drawn."""

from dataclasses import dataclass, field

import numpy as np
import torch


def load(split):
    """Blurred and sharp pictures between 0 and 1."""
    arrays = np.load(f"data/{split}.npz")
    blurred = torch.from_numpy(arrays["blurred"]).float().unsqueeze(1) / 255.0
    sharp = torch.from_numpy(arrays["sharp"]).float().unsqueeze(1) / 255.0
    return blurred, sharp


@dataclass
class Draws:
    """Every sample once, in a new order each time around."""

    count: int
    seed: int
    order: torch.Tensor = None
    position: int = 0
    random: torch.Generator = field(default_factory=torch.Generator)

    def __post_init__(self):
        self.random.manual_seed(self.seed)
        self.order = torch.randperm(self.count, generator=self.random)

    def take(self, number):
        if self.position + number > self.count:
            self.order = torch.randperm(self.count, generator=self.random)
            self.position = 0
        chosen = self.order[self.position : self.position + number]
        self.position += number
        return chosen

    def below(self, limit, number):
        return torch.randint(limit, (number,), generator=self.random).tolist()

    def state_dict(self):
        return {"order": self.order, "position": self.position, "random": self.random.get_state()}

    def load_state_dict(self, kept):
        self.order, self.position = kept["order"], kept["position"]
        self.random.set_state(kept["random"])


def batch_of(pair, draws, data, strength=1.0):
    """Crops of some pairs, turned at random; `strength` is the share of the blur that is left in."""
    chosen = draws.take(data["batch"])
    top, left, turn = draws.below(pair[0].shape[-1] - data["crop"] + 1, 3)
    window = (chosen, slice(None), slice(top, top + data["crop"]), slice(left, left + data["crop"]))
    blurred, sharp = pair[0][window], pair[1][window]
    if strength < 1.0:
        blurred = sharp + strength * (blurred - sharp)
    if data["turns"]:
        blurred, sharp = blurred.rot90(turn % 4, (2, 3)), sharp.rot90(turn % 4, (2, 3))
    return blurred, sharp
