"""The absorbing process: how residues are masked, how hard that is, and what it costs to undo it."""

import math

import torch
import torch.nn.functional as F

from inverse_folding.corpus import MASK


class Curriculum:
    """The difficulty of a step, from `start` to 1."""

    def __init__(self, shape, start, ramp_steps):
        self.shape, self.start, self.ramp_steps = shape, start, max(1, ramp_steps)

    def difficulty(self, step):
        done = min(1.0, step / self.ramp_steps)
        if self.shape == "none":
            return 1.0
        if self.shape == "cosine":
            done = 0.5 * (1.0 - math.cos(math.pi * done))
        if self.shape == "exponential":
            return self.start ** (1.0 - done)
        return self.start + (1.0 - self.start) * done


class AbsorbingNoise:
    """Draws levels, the share of residues that are masked, and masks them."""

    def __init__(self, low=0.05, high=0.5, drop_easy=0.0, one_level_per_batch=False):
        self.low, self.high = low, high
        self.drop_easy, self.one_level_per_batch = drop_easy, one_level_per_batch

    def draw_levels(self, count, difficulty):
        hardest = self.low + (self.high - self.low) * difficulty
        easiest = self.low + (hardest - self.low) * self.drop_easy * difficulty
        u = torch.rand(1).expand(count) if self.one_level_per_batch else torch.rand(count)
        return easiest + (hardest - easiest) * u

    def corrupt(self, tokens, real, level, generator=None):
        """Mask each real residue with the probability of its sequence's level."""
        drawn = torch.rand(tokens.shape, generator=generator)
        masked = (drawn < level[:, None]) & real
        return tokens.masked_fill(masked, MASK), masked


def nats_of(logits, tokens):
    """What each residue costs, [n, length]."""
    return F.cross_entropy(logits.float().transpose(1, 2), tokens, reduction="none")


def level_weights(level, weighting):
    """The weight of a sequence by its level."""
    if weighting == "elbo":
        return 0.5 / level
    return torch.ones_like(level)
