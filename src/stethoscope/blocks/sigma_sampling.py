"""Noise levels to train a diffusion model on, and the loss seen separately for small and large noise.

## What it does
`LogNormal` and `LogUniform` say how often each noise level is trained. `sample_sigmas` draws from them,
from a generator of its own where one is given; `stratified=True` draws one level from each of as many equal
parts as there are samples, so that every batch has small and large noise. `sigma_grid` gives fixed levels
for validation. `share_between` and `quantile` answer "how often is the noise above 10?" before the training
does.

`SigmaBuckets` keeps the mean loss and the number of samples for each range of noise, on the device and
without waiting for it. Losses that are not finite are counted, not added. `summary()` is what to log.

## The failure it prevents
The loss of a diffusion model depends far more on the noise that was drawn than on the model. The diffusion
prior that Stethoscope learned from logged one batch of four. An untrained model with its loss scores 1.5 to
7.1 in nine of ten such batches and 22 in one of a hundred; the "6.0" of its start and the "6.74" that was
called a catastrophic divergence are both ordinary values. The mean of a range over many batches does not
depend on how often that range was drawn.

Its authors also blamed the noise levels: log-normal with mean -1.2 and deviation 1.2, "mostly between .1
and 1". That is right (66 %), and it is EDM's own default. 16 % are above 1 and .18 % above 10; 5 to 95 %
lie between .042 and 2.17. Wider noise was tried on a small copy: 0.6 to 0.8 dB better at a noise of 40, and
0.3 to 0.75 dB worse at .3 and below. It is a trade, not a repair.

## When not to use it
The noise is a table of discrete steps (DDPM): bucket by step instead. Stratified draws are not independent
of each other: do not compute an error bar from one batch of them.

## Example

    import torch
    from stethoscope.blocks.sigma_sampling import LogNormal, SigmaBuckets, sample_sigmas

    noise = LogNormal()
    noise.share_between(0.1, 1.0)  # 0.66
    buckets = SigmaBuckets([0.1, 1.0, 10.0])
    generator = torch.Generator().manual_seed(0)
    for step in range(20):
        sigma = sample_sigmas(noise, 8, generator=generator, stratified=True)
        losses = 1 + sigma.square()  # one for each sample, as denoising_loss gives
        buckets.update(losses, sigma)
    print(buckets.summary())
    buckets.reset()

## References
- Karras, Aittala, Aila, Laine: Elucidating the design space of diffusion-based generative models (NeurIPS
  2022), section 5: P_mean = -1.2, P_std = 1.2
- Song et al.: Score-based generative modeling through stochastic differential equations (ICLR 2021):
  log-uniform noise for the variance-exploding process
- Kingma, Salimans, Poole, Ho: Variational diffusion models (NeurIPS 2021), noise levels spread evenly over
  a batch
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import torch
from torch import Tensor, nn

# torch.rand gives multiples of 2^-24. A probability of 0 would be no noise, whose loss has infinite weight.
SMALLEST_PROBABILITY = 2.0**-24


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Noise whose logarithm is normal; the defaults are EDM's."""

    p_mean: float = -1.2
    p_std: float = 1.2

    def __post_init__(self) -> None:
        if not self.p_std > 0:
            raise ValueError(f"p_std is {self.p_std}; give a number above 0.")

    def quantile(self, probability: Tensor) -> Tensor:
        """Give the noise levels below which these shares of the samples lie."""
        normal: Tensor = torch.special.ndtri(probability)
        return (normal * self.p_std + self.p_mean).exp()

    def share_below(self, sigma: float) -> float:
        """Say what share of the samples has less noise."""
        if sigma <= 0:
            return 0.0
        return 1.0 if math.isinf(sigma) else NormalDist(self.p_mean, self.p_std).cdf(math.log(sigma))

    def share_between(self, low: float, high: float) -> float:
        """Say what share of the samples lies between two noise levels."""
        return self.share_below(high) - self.share_below(low)


@dataclass(frozen=True, slots=True)
class LogUniform:
    """Noise that is as frequent in each octave between `low` and `high`."""

    low: float = 0.02
    high: float = 100.0

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"low={self.low} and high={self.high}: give 0 < low < high.")

    def quantile(self, probability: Tensor) -> Tensor:
        """Give the noise levels below which these shares of the samples lie."""
        return self.low * (probability * math.log(self.high / self.low)).exp()

    def share_below(self, sigma: float) -> float:
        """Say what share of the samples has less noise."""
        if sigma <= self.low:
            return 0.0
        return 1.0 if sigma >= self.high else math.log(sigma / self.low) / math.log(self.high / self.low)

    def share_between(self, low: float, high: float) -> float:
        """Say what share of the samples lies between two noise levels."""
        return self.share_below(high) - self.share_below(low)


def sample_sigmas(
    noise: LogNormal | LogUniform,
    count: int,
    *,
    stratified: bool = False,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw `count` noise levels in float32, from `generator` (on its device) where one is given.

    With `stratified`, each of `count` equally probable parts gives one level, in random order.
    """
    if count < 1:
        raise ValueError(f"count is {count}; draw at least one noise level.")
    place = device if device is not None else (generator.device if generator is not None else None)
    probability = torch.rand(count, generator=generator, device=place)
    if stratified:
        # The order is random, since a batch may be sorted by something that matters.
        part = torch.randperm(count, generator=generator, device=place)
        probability = (part + probability) / count
    return noise.quantile(_inside(probability))


def sigma_grid(
    noise: LogNormal | LogUniform, count: int, *, device: torch.device | str | None = None
) -> Tensor:
    """Give the middles of `count` equally probable parts: the same levels for every validation."""
    if count < 1:
        raise ValueError(f"count is {count}; ask for at least one noise level.")
    return noise.quantile((torch.arange(count, device=device) + 0.5) / count)


@dataclass(frozen=True, slots=True)
class BucketedLoss:
    """For each range of noise: the mean of the finite losses, how many, and how many were not finite."""

    mean: Tensor
    samples: Tensor
    not_finite: Tensor


def bucket_losses(losses: Tensor, sigma: Tensor, edges: Tensor) -> BucketedLoss:
    """Average the losses of the samples in each range between `edges`; a range without any has mean 0."""
    losses, sigma = losses.detach().reshape(-1).float(), sigma.detach().reshape(-1).float()
    if losses.shape != sigma.shape:
        raise ValueError(f"{losses.numel()} losses for {sigma.numel()} noise levels; give one for each.")
    # Compared rather than scattered: the sum has one order on every device, and no index leaves it.
    bucket = torch.bucketize(sigma, edges.to(sigma.device), right=True)
    inside = bucket[:, None] == torch.arange(len(edges) + 1, device=sigma.device)
    finite = (losses.isfinite() & sigma.isfinite())[:, None]
    count = (inside & finite).sum(0)
    # Divided before they are added: the sum of large losses may overflow where their mean does not.
    share = torch.where(inside & finite, losses[:, None], 0.0) / count.clamp(min=1)
    return BucketedLoss(share.sum(0), count, (inside & ~finite).sum(0))


class SigmaBuckets(nn.Module):
    """Keeps the mean loss of each range of noise between two readings of the log."""

    edges: Tensor
    mean: Tensor
    count: Tensor
    not_finite: Tensor

    def __init__(self, edges: Sequence[float] = (0.1, 1.0, 10.0)) -> None:
        super().__init__()
        if not edges or edges[0] <= 0 or any(a >= b for a, b in itertools.pairwise(edges)):
            raise ValueError(f"edges must rise and be above 0; got {list(edges)}.")
        size = len(edges) + 1
        self.register_buffer("edges", torch.tensor(edges, dtype=torch.float32))
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("count", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("not_finite", torch.zeros(size, dtype=torch.int64))

    @torch.no_grad()
    def update(self, losses: Tensor, sigma: Tensor) -> None:
        """Learn the loss of each sample; nothing is read back from the device."""
        batch = bucket_losses(losses, sigma, self.edges)
        self.count += batch.samples.to(self.count.device)
        self.not_finite += batch.not_finite.to(self.count.device)
        # A running mean does not lose digits as a growing sum does.
        gain = batch.samples / self.count.clamp(min=1)
        self.mean += (batch.mean - self.mean) * gain

    def forward(self, losses: Tensor, sigma: Tensor) -> Tensor:
        """Learn the losses and give their plain mean, to train on."""
        self.update(losses, sigma)
        return losses.mean()

    def summary(self, prefix: str = "loss") -> dict[str, float]:
        """Give means and counts by name, ready to log; ranges that no sample fell into have no mean."""
        means, counts, spoiled = self.mean.tolist(), self.count.tolist(), self.not_finite.tolist()
        rows = list(zip(_names(self.edges.tolist()), means, counts, strict=True))
        logged = {f"{prefix}/sigma_{name}": mean for name, mean, count in rows if count}
        logged |= {f"{prefix}/sigma_{name}/count": float(count) for name, _, count in rows}
        return logged | {f"{prefix}/not_finite": float(sum(spoiled))}

    def expected_loss(self, noise: LogNormal | LogUniform) -> float:
        """Give the mean over `noise`, each range counted by how often it should occur; NaN if one is empty.

        A range that was drawn too often or too seldom does not move it, as it moves the plain mean.
        """
        edges = [0.0, *self.edges.tolist(), math.inf]
        shares = [noise.share_between(low, high) for low, high in itertools.pairwise(edges)]
        rows = list(zip(shares, self.mean.tolist(), self.count.tolist(), strict=True))
        if any(share > 0 and not count for share, _, count in rows):
            return math.nan
        return math.fsum(share * mean for share, mean, _ in rows)

    def reset(self) -> None:
        """Forget the losses, for the next reading."""
        for values in (self.mean, self.count, self.not_finite):
            values.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        edges, mean = self.edges, self.mean
        module: Any = super()  # torch gives this method no types
        module._apply(fn, recurse)
        # `half()` is meant for weights: it moves a mean to another device and leaves it its digits.
        self.edges, self.mean = edges.to(self.edges.device), mean.to(self.mean.device)
        return self


def _inside(probability: Tensor) -> Tensor:
    return probability.clamp(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)


def _names(edges: Sequence[float]) -> list[str]:
    inner = [f"{low:g}_{high:g}" for low, high in itertools.pairwise(edges)]
    return [f"below_{edges[0]:g}", *inner, f"above_{edges[-1]:g}"]
