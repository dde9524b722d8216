"""Diffusion on tokens that turn into a mask, with a loss that is read against its chance level.

## What it does
A schedule (`LogLinearNoise`, `CosineNoise`, `GeometricNoise`) says how much noise there is at a time
between 0 and 1, and how fast it grows. After a noise of `sigma`, a token is left with the probability
`exp(-sigma)` and is the mask otherwise. `corrupt_at_times` masks tokens and returns a `CorruptedTokens`
that carries its noise. The model is told that noise and the loss reads that noise: there is one sigma, and
no place to pass another. `score_entropy` is the loss of each token, `absorbing_loss` does a whole step.

A curriculum passes `difficulty`: times are drawn up to it, and nothing else changes. Tokens that are
padding (`keep` is false) are neither masked nor counted.

Each loss comes with its chance level: what a model scores that gives every token the same probability.
`chance_loss` is exact for the batch at hand, `chance_level` is the expectation. `loss / chance` starts at 1
at every difficulty. It corrects for how many tokens are masked, not for how little context is left, so
models are compared with `evaluate_at_shares`: fixed shares of masked tokens, the same tokens every time.
The mask is the token after the last: `vocabulary` itself.

## The failure it prevents
The loss of a protein model that Stethoscope learned from rose from .26 to 2.33 in 5,000 steps, and its
authors concluded that the curriculum was faster than the model could learn. A model that knows nothing (36
tokens, noise up to .8) scores, at the same five steps:

    step    difficulty   chance   logged   ratio
    0       .100         .230     .258     1.12
    500     .333         .735     .782     1.06
    1000    .506         1.084    1.174    1.08
    2500    .799         1.629    2.062    1.27
    5000    .955         1.898    2.327    1.23

All of it is chance: the table shows the difficulty and no learning at all. The proposed repairs (noise up
to .5, half the learning rate, a slower curriculum) lower the chance level from 1.97 to 1.41: in a small
copy the loss fell by a third and the model was worse, in three seeds of three. That program also scaled the
noise for the corruption only: model and loss were told another noise. Its validation followed the
curriculum, 31 % of the tokens in its mean were padding, and with a noise of at most .8 no more than 55 % of
the tokens were ever masked while sampling starts from all (`masked_share`).

In float16 the entropy overflows for a noise below .00014: r * log(r) with r = 1 / (exp(sigma) - 1) is above
65,504. It is computed in float32.

## When not to use it
Tokens that have an order (pixels, quantised sound): masks throw it away. Masked language models that are
never sampled from: a plain cross-entropy at one share of masks is simpler. The chance level knows no
frequencies: a model that has learned only how frequent each token is scores below 1.

## Example

    import torch
    from torch import Tensor, nn
    from stethoscope.blocks.discrete_diffusion import AbsorbingProcess, ScoreNetwork
    from stethoscope.blocks.discrete_diffusion import absorbing_loss, evaluate_at_shares


    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.output = nn.Embedding(21, 16), nn.Linear(16, 20)

        def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
            return self.output(self.embed(tokens))


    process = AbsorbingProcess(vocabulary=20)
    model = ScoreNetwork(Network())
    tokens = torch.randint(0, 20, (8, 32))
    result = absorbing_loss(process, model, tokens, keep=torch.ones(8, 32, dtype=torch.bool), difficulty=0.5)
    result.loss.backward()
    result.ratio  # about 1: nothing is known yet
    evaluate_at_shares(process, model, tokens)  # at 15, 50 and 90 % masked

## References
- Lou, Meng, Ermon: Discrete diffusion modeling by estimating the ratios of the data distribution (ICML
  2024)
- https://github.com/louaaron/Score-Entropy-Discrete-Diffusion
- Austin et al.: Structured denoising diffusion models in discrete state-spaces (NeurIPS 2021)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from stethoscope.blocks._precise import precise
from stethoscope.blocks.channel_adapter import masked_mean_loss

# At time 0 there is no noise and nothing to predict; the ratio 1 / (exp(sigma) - 1) has no value there.
FIRST_TIME = 1e-3
SHARES = (0.15, 0.5, 0.9)  # of masked tokens: few, half and nearly all
EVALUATION_SEED = 0
NODES = 64  # of the quadrature: 12 digits for noise up to 20


@dataclass(frozen=True, slots=True)
class TokenNoise:
    """The total noise at a time, and its rate of growth."""

    sigma: Tensor
    rate: Tensor


@dataclass(frozen=True, slots=True)
class LogLinearNoise:
    """Masks a share of the tokens that grows evenly to `1 - eps`; the usual choice."""

    eps: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 < self.eps < 1:
            raise ValueError(f"eps is {self.eps}; give a number between 0 and 1.")

    def __call__(self, t: Tensor) -> TokenNoise:
        """Give the noise at `t`."""
        masked = (1 - self.eps) * precise(t)
        return TokenNoise(-torch.log1p(-masked), (1 - self.eps) / (1 - masked))


@dataclass(frozen=True, slots=True)
class CosineNoise:
    """Rises from `sigma_min` to `sigma_max` along half a cosine."""

    sigma_min: float = 1e-4
    sigma_max: float = 20.0

    def __post_init__(self) -> None:
        _check_range(self.sigma_min, self.sigma_max)

    def __call__(self, t: Tensor) -> TokenNoise:
        """Give the noise at `t`."""
        t, width = precise(t), self.sigma_max - self.sigma_min
        # The square of a sine, not 1 - cosine: that would lose all digits of a small noise.
        risen = torch.sin(0.5 * math.pi * t).square()
        # The sine of pi is a little below zero in floating point.
        rate = 0.5 * math.pi * width * torch.sin(math.pi * t).clamp(min=0)
        return TokenNoise(self.sigma_min + width * risen, rate)


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Multiplies by the same factor in each moment, from `sigma_min` to `sigma_max`."""

    sigma_min: float = 1e-4
    sigma_max: float = 20.0

    def __post_init__(self) -> None:
        _check_range(self.sigma_min, self.sigma_max)

    def __call__(self, t: Tensor) -> TokenNoise:
        """Give the noise at `t`."""
        growth = math.log(self.sigma_max / self.sigma_min)
        sigma = self.sigma_min * (growth * precise(t)).exp()
        return TokenNoise(sigma, growth * sigma)


Schedule: TypeAlias = LogLinearNoise | CosineNoise | GeometricNoise
Model: TypeAlias = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class AbsorbingProcess:
    """Tokens 0 to `vocabulary - 1` turn into the mask, `vocabulary`, and stay there."""

    vocabulary: int
    schedule: Schedule = field(default_factory=LogLinearNoise)

    def __post_init__(self) -> None:
        if self.vocabulary < 2:
            raise ValueError(f"vocabulary is {self.vocabulary}; give the number of tokens, at least 2.")

    @property
    def mask(self) -> int:
        """The token that stands for all that is lost."""
        return self.vocabulary


@dataclass(frozen=True, slots=True)
class CorruptedTokens:
    """Tokens after some noise: what the model sees, what was there, the noise, and which tokens count."""

    tokens: Tensor
    clean: Tensor
    sigma: Tensor
    rate: Tensor
    masked: Tensor
    keep: Tensor
    vocabulary: int


@dataclass(frozen=True, slots=True)
class AbsorbingLoss:
    """A training step's loss, and what a model that knows nothing would have scored on the same tokens."""

    loss: Tensor
    chance: Tensor

    @property
    def ratio(self) -> Tensor:
        """The loss in units of chance: 1 knows nothing. A batch without a masked token has ratio 1."""
        silent = self.chance == 0
        ratio = self.loss.detach() / torch.where(silent, 1.0, self.chance)
        return torch.where(silent, 1.0, ratio)


@dataclass(frozen=True, slots=True)
class DifficultyScore:
    """How a model does where `share` of the tokens is masked: the mean entropy of those, and its chance."""

    share: float
    entropy: float
    chance: float

    @property
    def ratio(self) -> float:
        """The entropy in units of chance: 1 knows nothing, 0 knows all."""
        return self.entropy / self.chance


def sample_times(
    count: int,
    *,
    difficulty: float = 1.0,
    stratified: bool = True,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw times between nearly 0 and `difficulty`, one from each of `count` equal parts."""
    if not FIRST_TIME < difficulty <= 1:
        raise ValueError(f"difficulty is {difficulty}; give a number above {FIRST_TIME} and at most 1.")
    place = device if device is not None else (generator.device if generator is not None else None)
    u = torch.rand(count, generator=generator, device=place)
    if stratified:
        # The order is random, since a batch may be sorted by something that matters.
        u = (torch.randperm(count, generator=generator, device=place) + u) / count
    return FIRST_TIME + (difficulty - FIRST_TIME) * u


def corrupt_at_times(
    process: AbsorbingProcess,
    clean: Tensor,
    times: Tensor,
    *,
    keep: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> CorruptedTokens:
    """Mask the tokens (B, L) as the noise at the times (B) does; those not to `keep` stay as they are."""
    return _corrupt(process, clean, process.schedule(times), keep, generator)


def corrupt_at_share(
    process: AbsorbingProcess,
    clean: Tensor,
    share: float,
    *,
    keep: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> CorruptedTokens:
    """Mask each token (B, L) with the probability `share`, whatever the schedule says."""
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; give a number between 0 and 1.")
    sigma = torch.full((len(clean),), -math.log1p(-share), device=clean.device)
    return _corrupt(process, clean, TokenNoise(sigma, torch.ones_like(sigma)), keep, generator)


def log_scores(logits: Tensor, sigma: Tensor) -> Tensor:
    """Turn logits (B, L, K) into log-scores in float32; logits of zero give those of a model at chance."""
    return precise(logits) + (_log_ratio(sigma) - math.log(logits.shape[-1]))[:, None, None]


def score_entropy(log_score: Tensor, corrupted: CorruptedTokens) -> Tensor:
    """Give the score entropy of every token (B, L), in float32; tokens that are not masked have none."""
    expected = (*corrupted.tokens.shape, corrupted.vocabulary)
    if tuple(log_score.shape) != expected:
        raise ValueError(
            f"log-scores must be shaped {expected}, one for each token and none for the mask; "
            f"got {tuple(log_score.shape)}."
        )
    # Tokens that are not masked must not reach the exponential: infinity times no gradient is NaN.
    log_score = torch.where(corrupted.masked[..., None], precise(log_score), 0.0)
    log_ratio = _log_ratio(corrupted.sigma)[:, None]
    ratio = log_ratio.exp()
    # What is not kept may be any number, also one that is no token; it is masked nowhere.
    answer = torch.where(corrupted.masked, corrupted.clean, 0).long()
    taken = log_score.gather(-1, answer[..., None]).squeeze(-1)
    entropy = log_score.exp().sum(-1) + ratio * (log_ratio - 1 - taken)
    return torch.where(corrupted.masked, entropy, 0.0)


def score_entropy_loss(log_score: Tensor, corrupted: CorruptedTokens) -> Tensor:
    """Average the entropy times the rate of the noise over all tokens that are kept, masked or not."""
    return masked_mean_loss(corrupted.rate[:, None] * score_entropy(log_score, corrupted), corrupted.keep)


def chance_loss(corrupted: CorruptedTokens) -> Tensor:
    """Give the `score_entropy_loss` of a model that knows nothing, on these very tokens."""
    ratio = _log_ratio(corrupted.sigma).exp()
    at_mask = (corrupted.rate * ratio * math.log(corrupted.vocabulary))[:, None]
    return masked_mean_loss(torch.where(corrupted.masked, at_mask, 0.0), corrupted.keep)


def absorbing_loss(
    process: AbsorbingProcess,
    model: Model,
    clean: Tensor,
    *,
    keep: Tensor | None = None,
    difficulty: float = 1.0,
    generator: torch.Generator | None = None,
) -> AbsorbingLoss:
    """Draw times, corrupt, ask `model(tokens, sigma)` for log-scores, and give loss and chance."""
    times = sample_times(len(clean), difficulty=difficulty, generator=generator, device=clean.device)
    corrupted = corrupt_at_times(process, clean, times, keep=keep, generator=generator)
    log_score = model(corrupted.tokens, corrupted.sigma)
    return AbsorbingLoss(score_entropy_loss(log_score, corrupted), chance_loss(corrupted))


def chance_level(process: AbsorbingProcess, difficulty: float = 1.0) -> float:
    """Give the expected loss of a model that knows nothing, for times up to `difficulty`.

    Masks have the probability 1 - exp(-sigma) and cost log(K) / (exp(sigma) - 1) there; the product is
    log(K) * exp(-sigma), whose integral over the noise is known.
    """
    ends = process.schedule(torch.tensor([FIRST_TIME, difficulty], dtype=torch.float64)).sigma
    first, last = (float(left) for left in torch.exp(-ends))
    return math.log(process.vocabulary) * (first - last) / (difficulty - FIRST_TIME)


def mismatched_chance_level(vocabulary: int, sigma_min: float, sigma_max: float, scale: float) -> float:
    """Give the chance level of a program that corrupts with `scale * sigma` and tells model and loss `sigma`.

    It is log(K) times the integral of (1 - exp(-scale * sigma)) / (exp(sigma) - 1) over the noise. Use it to
    read the losses of such a program; this block has no such scale.
    """
    _check_range(sigma_min, sigma_max)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = 0.5 * (sigma_max - sigma_min)
    sigma = sigma_min + half * (nodes + 1)
    density = -np.expm1(-scale * sigma) / np.expm1(sigma)
    return math.log(vocabulary) * half * float(weights @ density)


def masked_share(schedule: Schedule, time: float = 1.0) -> float:
    """Say what share of the tokens is masked at `time`; at 1 it should be nearly all of them."""
    sigma = schedule(torch.tensor(time, dtype=torch.float64)).sigma
    return -math.expm1(-sigma.item())


@torch.no_grad()
def evaluate_at_shares(
    process: AbsorbingProcess,
    model: Model,
    clean: Tensor,
    *,
    keep: Tensor | None = None,
    shares: Sequence[float] = SHARES,
    seed: int = EVALUATION_SEED,
) -> tuple[DifficultyScore, ...]:
    """Measure at fixed shares of masked tokens, the same tokens in every call.

    Put the model into `eval()` first. The entropy is that of the masked tokens only.
    """
    scores = []
    for share in shares:
        generator = torch.Generator(clean.device).manual_seed(seed)
        corrupted = corrupt_at_share(process, clean, share, keep=keep, generator=generator)
        entropy = score_entropy(model(corrupted.tokens, corrupted.sigma), corrupted)
        mean = float(entropy.sum() / corrupted.masked.sum())  # NaN where nothing was masked
        # 1 / (exp(sigma) - 1), which is (1 - share) / share, times log K
        scores.append(DifficultyScore(share, mean, (1 - share) / share * math.log(process.vocabulary)))
    return tuple(scores)


class ScoreNetwork(nn.Module):
    """Makes log-scores of the logits of `network(tokens, sigma)`; logits of zero are chance."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
        """Give the log-scores (B, L, K) of the tokens (B, L) at the noise (B) of each sequence."""
        return log_scores(self.network(tokens, sigma), sigma)


def _corrupt(
    process: AbsorbingProcess,
    clean: Tensor,
    noise: TokenNoise,
    keep: Tensor | None,
    generator: torch.Generator | None,
) -> CorruptedTokens:
    if clean.dim() != 2 or clean.is_floating_point():
        raise ValueError(f"tokens must be whole numbers (B, L); got {clean.dtype} {tuple(clean.shape)}.")
    if len(noise.sigma) != len(clean):
        raise ValueError(f"{len(noise.sigma)} times for {len(clean)} sequences; give one for each.")
    keep = torch.ones_like(clean, dtype=torch.bool) if keep is None else keep
    if keep.dtype != torch.bool or keep.shape != clean.shape:
        raise ValueError(
            f"keep must be boolean and shaped as the tokens {tuple(clean.shape)}, false for padding; "
            f"got {keep.dtype} {tuple(keep.shape)}."
        )
    draw = torch.rand(clean.shape, generator=generator, device=clean.device)
    masked = (draw < -torch.expm1(-noise.sigma)[:, None]) & keep
    tokens = torch.where(masked, process.mask, clean)
    return CorruptedTokens(tokens, clean, noise.sigma, noise.rate, masked, keep, process.vocabulary)


def _log_ratio(sigma: Tensor) -> Tensor:
    """The logarithm of 1 / (exp(sigma) - 1), exact for small noise and safe for large."""
    sigma = precise(sigma)
    return -sigma - torch.log(-torch.expm1(-sigma))


def _check_range(sigma_min: float, sigma_max: float) -> None:
    if not 0 < sigma_min < sigma_max:
        raise ValueError(f"sigma_min={sigma_min} and sigma_max={sigma_max}: give 0 < sigma_min < sigma_max.")
