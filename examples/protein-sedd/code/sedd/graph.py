"""The absorbing process: tokens turn into the mask and stay there. Shapes are BL, scores BLK."""

import torch
from torch import Tensor


class AbsorbingGraph:
    """Moves between `tokens` tokens and one mask, which is the last index."""

    def __init__(self, tokens: int) -> None:
        self.mask = tokens

    def sample_transition(self, x0: Tensor, sigma: Tensor) -> Tensor:
        """Mask each token with the probability that it has moved after the noise `sigma`."""
        moved = torch.rand(x0.shape, device=x0.device) < 1 - torch.exp(-sigma)
        return torch.where(moved, self.mask, x0)

    def score_entropy(self, log_score: Tensor, sigma: Tensor, x: Tensor, x0: Tensor) -> Tensor:
        """The score entropy of every token; tokens that are not masked have none."""
        masked = x == self.mask
        ratio = (1 / torch.expm1(sigma)).expand_as(x)
        taken = log_score.gather(-1, x0[..., None]).squeeze(-1)
        entropy = log_score.exp().sum(-1) - ratio * taken + ratio * (ratio.log() - 1)
        return torch.where(masked, entropy, 0.0)
