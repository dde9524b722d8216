"""A denoiser whose inputs, outputs, targets and errors have the same size at every noise level (EDM).

## What it does
`Preconditioned` makes a denoiser of a network: `D(x) = c_skip * x + c_out * F(c_in * x, c_noise)`. The four
coefficients keep what goes into the network and what must come out of it at unit size, from a noise of .002
to one of 80. They are computed in float32 whatever autocast says.

`denoising_loss` adds the noise, asks the denoiser and compares with the clean data. It takes no target, and
it refuses a model that is not `Preconditioned`, so the target always belongs to the output. It gives one
weighted loss for each sample: take its mean to train, or hand it to `SigmaBuckets` to see it by noise
level.

`edm_baselines` says what those who know nothing score: answering zero, answering the noisy input, and an
untrained network (whose last layer is zero). `heun_sample` draws samples: deterministic, second order.

## The failure it prevents
A velocity was regressed on the output of a denoiser. That is what the diffusion prior that Stethoscope
learned from did: its network would have had to produce values that grow as 1 / sigma. Answering zero scores
at most 1.0 there, the untrained network 3.2 on average and 1.5 to 7.1 in nine of ten batches of four. So
the loss of 6 at its start and the 6.74 after 90,000 steps both belong to a model that is worse than zeros,
and nobody had a number to compare with. In a small copy the loss fell from 1.09 to .14 while the output had
6 dB where its noisy input had 32; with the target that belongs to the output it had 40.

With this loss a network that answers zero scores 1 at every noise level (data of standard deviation
`sigma_data`). At a median noise of .30 copying the input scores 1.36 and answering zero 3.8; averaged over
the usual log-normal noise they score 7.5 and 50. A loss above 1 for many steps says that something is
wrong.

In float16 the weight of the loss overflows for noise below 1/256: the weight there is above 65,504.

## When not to use it
The output of the network is a velocity or a noise and the rest of the program expects that: then take the
target that belongs to it. Data that is discrete: see `discrete_diffusion`. `sigma_data` must be the
standard deviation of the data as the network sees it; .5 is right for images scaled to [-1, 1].

## Example

    import torch
    from torch import Tensor, nn
    from stethoscope.blocks.edm import Preconditioned, denoising_loss, edm_baselines
    from stethoscope.blocks.edm import heun_sample, sigma_steps


    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
            return self.layer(torch.cat([x, c_noise[:, None]], dim=1))


    model = Preconditioned(Network(), sigma_data=0.5)
    clean = 0.5 * torch.randn(64, 2)
    sigma = torch.exp(torch.randn(64) * 1.2 - 1.2)
    losses = denoising_loss(model, clean, sigma)
    losses.mean().backward()
    knows_nothing = edm_baselines(sigma, sigma_data=0.5).untrained.mean()
    with torch.no_grad():
        samples = heun_sample(model, torch.randn(16, 2), sigma_steps(18))

## References
- Karras, Aittala, Aila, Laine: Elucidating the design space of diffusion-based generative models (NeurIPS
  2022), table 1 and algorithm 1
- https://github.com/NVlabs/edm
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from stethoscope.blocks._precise import precise
from stethoscope.blocks._unwrapped import unwrapped
from stethoscope.blocks.channel_adapter import masked_mean_loss

SIGMA_DATA = 0.5  # about the standard deviation of images scaled to [-1, 1]
SIGMA_MIN, SIGMA_MAX = 0.002, 80.0  # below the finest step of an 8-bit image; far above its largest value
RHO = 7.0  # how much denser the steps are at low noise; the authors of EDM measured 5 to 10 as best

SAME_SIGMA_DATA = 0.01  # a checkpoint that was stored or averaged in half precision is still the same model's


@dataclass(frozen=True, slots=True)
class EdmCoefficients:
    """What a denoiser multiplies its input and its network's output with, and tells it about the noise."""

    c_skip: Tensor
    c_out: Tensor
    c_in: Tensor
    c_noise: Tensor


@dataclass(frozen=True, slots=True)
class EdmBaselines:
    """The expected loss of those who know nothing, for each noise level."""

    zeros: Tensor
    copy: Tensor
    untrained: Tensor


def edm_coefficients(sigma: Tensor, sigma_data: float = SIGMA_DATA) -> EdmCoefficients:
    """Give the coefficients at each noise level, in float32 or better."""
    sigma = precise(sigma)
    total = sigma.square() + sigma_data**2
    return EdmCoefficients(
        c_skip=sigma_data**2 / total,
        c_out=sigma * sigma_data * total.rsqrt(),
        c_in=total.rsqrt(),
        c_noise=sigma.log() / 4,
    )


def edm_loss_weight(sigma: Tensor, sigma_data: float = SIGMA_DATA) -> Tensor:
    """Give the weight that makes the loss of an untrained network 1 at every noise level."""
    return precise(sigma).square().reciprocal() + 1 / sigma_data**2


def edm_loss(
    denoised: Tensor, clean: Tensor, sigma: Tensor, sigma_data: float = SIGMA_DATA, mask: Tensor | None = None
) -> Tensor:
    """Give the weighted squared error of each sample; `mask` is true for the elements that count."""
    if denoised.shape != clean.shape:
        shapes = f"{tuple(denoised.shape)} and {tuple(clean.shape)}"
        raise ValueError(f"the denoised and the clean data differ in shape: {shapes}.")
    squared = (precise(denoised) - precise(clean)).square()
    error = squared.flatten(1).mean(1) if mask is None else masked_mean_loss(squared, mask, per_sample=True)
    return edm_loss_weight(_one_per_sample(sigma, clean), sigma_data) * error


def denoising_loss(
    model: nn.Module,
    clean: Tensor,
    sigma: Tensor,
    *conditions: object,
    noise: Tensor | None = None,
    mask: Tensor | None = None,
    generator: torch.Generator | None = None,
    **named: object,
) -> Tensor:
    """Noise the clean data, let the `Preconditioned` model denoise it, and give the loss of each sample.

    `noise` has unit variance and is drawn where it is not given. What else is given goes to the network.
    A model wrapped by DistributedDataParallel or torch.compile is called through its wrapper.
    """
    sigma_data = _preconditioned(model).sigma_data
    clean = precise(clean)
    if noise is None:
        noise = torch.randn(clean.shape, generator=generator, device=clean.device, dtype=clean.dtype)
    levels = _one_per_sample(sigma, clean)
    denoised = model(clean + _spread(levels, clean) * noise, levels, *conditions, **named)
    return edm_loss(denoised, clean, levels, sigma_data, mask)


def edm_baselines(
    sigma: Tensor, sigma_data: float = SIGMA_DATA, mean_square: float | None = None
) -> EdmBaselines:
    """Give the expected loss of answering zero, of copying the input, and of an untrained network.

    `mean_square` is the mean of the squared clean data, `sigma_data ** 2` where it is not given.
    """
    sigma = precise(sigma)
    energy = sigma_data**2 if mean_square is None else mean_square
    weight = edm_loss_weight(sigma, sigma_data)
    c_skip = edm_coefficients(sigma, sigma_data).c_skip
    return EdmBaselines(
        zeros=weight * energy,
        copy=weight * sigma.square(),
        untrained=weight * ((c_skip * sigma).square() + (1 - c_skip).square() * energy),
    )


def sigma_steps(
    count: int, sigma_min: float = SIGMA_MIN, sigma_max: float = SIGMA_MAX, rho: float = RHO
) -> Tensor:
    """Give `count` falling noise levels for sampling, and a zero behind them."""
    if count < 2:
        raise ValueError(f"count is {count}; sampling needs at least 2 noise levels.")
    if not 0 < sigma_min < sigma_max:
        raise ValueError(f"noise must fall from sigma_max to sigma_min > 0; got {sigma_max} to {sigma_min}.")
    done = torch.linspace(0, 1, count, dtype=torch.float64)
    first, last = sigma_max ** (1 / rho), sigma_min ** (1 / rho)
    return torch.cat([(first + done * (last - first)) ** rho, torch.zeros(1, dtype=torch.float64)])


def heun_sample(denoise: Callable[[Tensor, Tensor], Tensor], noise: Tensor, sigmas: Tensor) -> Tensor:
    """Turn noise of unit variance into samples, along falling noise levels that end with 0.

    `denoise(x, sigma)` gives the denoised `x`; a `Preconditioned` does. Call it without gradients.
    """
    levels: list[float] = sigmas.tolist()
    if len(levels) < 2 or levels[-1] != 0 or any(a <= b for a, b in itertools.pairwise(levels)):
        raise ValueError(f"the noise levels must fall and end with 0; got {levels}.")
    x = precise(noise) * levels[0]
    for here, there in itertools.pairwise(levels):
        slope = (x - denoise(x, _level(here, x))) / here
        ahead = x + (there - here) * slope
        # At no noise there is no slope to average with: the last step is Euler's.
        if there > 0:
            slope = (slope + (ahead - denoise(ahead, _level(there, x))) / there) / 2
        x = x + (there - here) * slope
    return x


class Preconditioned(nn.Module):
    """A denoiser made of `network(x, c_noise, ...)`, for data of standard deviation `sigma_data`."""

    def __init__(self, network: nn.Module, sigma_data: float = SIGMA_DATA) -> None:
        super().__init__()
        if not sigma_data > 0:
            raise ValueError(f"sigma_data is {sigma_data}; give the standard deviation of the data, above 0.")
        self.network = network
        self.sigma_data = float(sigma_data)

    def forward(self, noisy: Tensor, sigma: Tensor, *conditions: object, **named: object) -> Tensor:
        """Give the denoised data, in float32 or better; `sigma` is one number or one for each sample."""
        noisy = precise(noisy)
        levels = _one_per_sample(sigma, noisy)
        c = edm_coefficients(_spread(levels, noisy), self.sigma_data)
        dtype = _dtype_of(self.network)
        scaled, c_noise = (c.c_in * noisy).to(dtype), c.c_noise.flatten().to(dtype)
        answer: Tensor = self.network(scaled, c_noise, *conditions, **named)
        if answer.shape != noisy.shape:
            shapes = f"{tuple(answer.shape)} for {tuple(noisy.shape)}"
            raise ValueError(f"the network answers in another shape than it was asked: {shapes}.")
        return c.c_skip * noisy + c.c_out * answer.to(noisy.dtype)

    def get_extra_state(self) -> Tensor:
        """Keep `sigma_data` with the weights: with another value they are another model's."""
        return torch.tensor(self.sigma_data, dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse weights that were trained with another `sigma_data`."""
        if not math.isclose(float(state), self.sigma_data, rel_tol=SAME_SIGMA_DATA):
            raise ValueError(
                f"these weights were trained with sigma_data={float(state):g}, and this denoiser has "
                f"{self.sigma_data:g}; build it with Preconditioned(network, sigma_data={float(state):g})."
            )


def _one_per_sample(sigma: Tensor, data: Tensor) -> Tensor:
    """The noise levels as one number for each sample of `data`."""
    levels = torch.as_tensor(sigma, device=data.device).reshape(-1)
    if levels.numel() not in (1, len(data)):
        shape = tuple(torch.as_tensor(sigma).shape)
        raise ValueError(f"sigma must be one number or one for each of {len(data)} samples; got {shape}.")
    return precise(levels).to(precise(data).dtype).expand(len(data))


def _spread(levels: Tensor, data: Tensor) -> Tensor:
    """One number for each sample, shaped to multiply `data`."""
    return levels.view(-1, *(1 for _ in data.shape[1:]))


def _preconditioned(model: nn.Module) -> Preconditioned:
    inner = unwrapped(model)
    if not isinstance(inner, Preconditioned):
        raise TypeError(
            f"{type(inner).__name__} may return anything, and this loss compares with the clean data; "
            "wrap the network: Preconditioned(network, sigma_data)."
        )
    return inner


def _level(sigma: float, x: Tensor) -> Tensor:
    return torch.full((len(x),), sigma, dtype=x.dtype, device=x.device)


def _dtype_of(network: nn.Module) -> torch.dtype:
    """What the network's weights are: float32 under autocast, which casts for itself."""
    floating = (p.dtype for p in network.parameters() if p.is_floating_point())
    return next(floating, torch.float32)
