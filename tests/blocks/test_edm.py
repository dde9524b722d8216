"""EDM's denoiser, loss and sampler agree with what is known in closed form for Gaussian data."""

from __future__ import annotations

import io
import math
import textwrap

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from stethoscope.blocks import edm
from stethoscope.blocks.edm import (
    Preconditioned,
    denoising_loss,
    edm_baselines,
    edm_coefficients,
    edm_loss,
    edm_loss_weight,
    heun_sample,
    sigma_steps,
)

HALVES = [torch.float16, torch.bfloat16]
SIGMAS = [0.002, 0.05, 0.3, 1.0, 7.0, 80.0]
MEAN, SPREAD = 0.7, 0.9  # of the Gaussian data whose best denoiser is known


class Small(nn.Module):
    """A network with a linear layer, told the noise by a shift."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
        answer: Tensor = self.layer(x)
        return answer + c_noise[:, None]


class Nothing(nn.Module):
    """A network whose last layer is zero."""

    def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
        return torch.zeros_like(x)


class BestInside(nn.Module):
    """The network that makes the best denoiser of Gaussian data, solved from D(x) = c_skip x + c_out F."""

    def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
        sigma = torch.exp(4 * c_noise)[:, None]
        noisy = x * (sigma**2 + 0.25).sqrt()
        best = best_denoiser(noisy, sigma)
        return (best - 0.25 / (sigma**2 + 0.25) * noisy) * (sigma**2 + 0.25).sqrt() / (0.5 * sigma)


def best_denoiser(x: Tensor, sigma: Tensor) -> Tensor:
    """The mean of Gaussian data, given what is left of it: a textbook formula."""
    sigma = sigma.view(-1, *(1 for _ in x.shape[1:]))
    return (SPREAD**2 * x + sigma**2 * MEAN) / (SPREAD**2 + sigma**2)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("sigma_data", [0.5, 1.3])
def test_coefficients_and_weight_are_those_of_the_paper(sigma_data: float):
    sigma = np.array(SIGMAS)
    found = edm_coefficients(torch.tensor(SIGMAS, dtype=torch.float64), sigma_data)
    root = np.sqrt(sigma**2 + sigma_data**2)
    np.testing.assert_allclose(found.c_skip, sigma_data**2 / (sigma**2 + sigma_data**2), rtol=1e-12)
    np.testing.assert_allclose(found.c_out, sigma * sigma_data / root, rtol=1e-12)
    np.testing.assert_allclose(found.c_in, 1 / root, rtol=1e-12)
    np.testing.assert_allclose(found.c_noise, np.log(sigma) / 4, rtol=1e-12)
    weight = edm_loss_weight(torch.tensor(SIGMAS, dtype=torch.float64), sigma_data)
    np.testing.assert_allclose(weight, (sigma**2 + sigma_data**2) / (sigma * sigma_data) ** 2, rtol=1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_what_goes_in_and_what_must_come_out_have_unit_size_at_every_noise(sigma: float):
    clean, noise = 0.5 * normal(100_000), normal(100_000, seed=1)
    c = edm_coefficients(torch.tensor(sigma))
    noisy = clean + sigma * noise
    assert (c.c_in * noisy).std().item() == pytest.approx(1, rel=0.02)
    assert ((clean - c.c_skip * noisy) / c.c_out).std().item() == pytest.approx(1, rel=0.02)


def test_a_denoiser_is_the_formula_around_its_network():
    network = Small()
    noisy, sigma = normal(4, 6), torch.tensor([0.01, 0.3, 2.0, 60.0])
    s = sigma[:, None]
    inner = network(noisy / (s**2 + 0.25).sqrt(), sigma.log() / 4)
    expected = 0.25 / (s**2 + 0.25) * noisy + 0.5 * s / (s**2 + 0.25).sqrt() * inner
    assert torch.allclose(Preconditioned(network)(noisy, sigma), expected, rtol=1e-5, atol=1e-6)
    shaped = Preconditioned(network)(noisy, sigma.view(4, 1))
    assert torch.allclose(shaped, expected, rtol=1e-5, atol=1e-6)
    one = Preconditioned(network)(noisy, torch.tensor(0.3))
    assert torch.allclose(one[1], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 5.0])
def test_the_loss_of_the_best_denoiser_is_the_closed_form(sigma: float):
    samples = 60_000
    clean = MEAN + SPREAD * normal(samples, 4)
    noise = normal(samples, 4, seed=1)
    losses = denoising_loss(Preconditioned(BestInside()), clean, torch.tensor(sigma), noise=noise)
    # What is left of a Gaussian's variance after it was seen through noise, times the weight.
    variance = sigma**2 * SPREAD**2 / (sigma**2 + SPREAD**2)
    expected = (sigma**2 + 0.25) / (sigma * 0.5) ** 2 * variance
    error = losses.std().item() / math.sqrt(samples)
    assert abs(losses.mean().item() - expected) < 4 * error
    assert error < 0.01 * expected


def test_each_sample_has_the_weight_of_its_own_noise():
    denoised, clean = normal(3, 2, 4, 4), normal(3, 2, 4, 4, seed=1)
    sigma = torch.tensor([0.01, 1.0, 30.0])
    squared = ((denoised - clean) ** 2).numpy().mean(axis=(1, 2, 3))
    weight = (np.array([0.01, 1, 30]) ** 2 + 0.25) / (np.array([0.01, 1, 30]) * 0.5) ** 2
    np.testing.assert_allclose(edm_loss(denoised, clean, sigma), squared * weight, rtol=1e-5)


def test_masked_elements_do_not_count():
    denoised, clean = normal(2, 4, 3, 3), normal(2, 4, 3, 3, seed=1)
    sigma = torch.tensor([0.2, 3.0])
    mask = torch.tensor([True, False, False, False]).view(1, 4, 1, 1)
    masked = edm_loss(denoised, clean, sigma, mask=mask)
    np.testing.assert_allclose(masked, edm_loss(denoised[:, :1], clean[:, :1], sigma), rtol=1e-6)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 5.0])
def test_the_baselines_are_what_those_who_know_nothing_score(sigma: float):
    clean, noise = MEAN + SPREAD * normal(80_000, 1), normal(80_000, 1, seed=1)
    noisy, level = clean + sigma * noise, torch.tensor(sigma)
    expected = edm_baselines(level, mean_square=MEAN**2 + SPREAD**2)
    assert edm_loss(torch.zeros_like(clean), clean, level).mean().item() == pytest.approx(
        expected.zeros.item(), rel=0.02
    )
    assert edm_loss(noisy, clean, level).mean().item() == pytest.approx(expected.copy.item(), rel=0.02)
    untrained = denoising_loss(Preconditioned(Nothing()), clean, level, noise=noise)
    assert untrained.mean().item() == pytest.approx(expected.untrained.item(), rel=0.02)


def test_an_untrained_network_scores_one_at_every_noise():
    np.testing.assert_allclose(edm_baselines(torch.tensor(SIGMAS)).untrained, 1, rtol=1e-5)


def test_averaged_over_the_usual_noise_the_others_score_7_and_50():
    # The means of a log-normal variable and of its reciprocal, squared, are known.
    sigma = torch.exp(normal(2_000_000, dtype=torch.float64) * 1.2 - 1.2)
    found = edm_baselines(sigma)
    copy = 1 + math.exp(2 * -1.2 + 2 * 1.2**2) / 0.25
    zeros = 1 + 0.25 * math.exp(2 * 1.2 + 2 * 1.2**2)
    assert (copy, zeros) == (pytest.approx(7.46, abs=0.01), pytest.approx(50.1, abs=0.1))
    assert found.copy.mean().item() == pytest.approx(copy, rel=0.1)
    assert found.zeros.mean().item() == pytest.approx(zeros, rel=0.1)


def test_the_noise_levels_of_the_sampler_are_those_of_the_paper():
    levels = sigma_steps(18).numpy()
    i = np.arange(18)
    expected = (80 ** (1 / 7) + i / 17 * (0.002 ** (1 / 7) - 80 ** (1 / 7))) ** 7
    np.testing.assert_allclose(levels[:-1], expected, rtol=1e-12)
    assert levels[-1] == 0


def test_sampling_follows_the_exact_path_of_gaussian_data():
    noise = normal(500, 2, dtype=torch.float64)
    # The equation dx/dsigma = (x - D(x)) / sigma has this solution from sigma = 80 to 0.
    exact = MEAN + (80 * noise - MEAN) * SPREAD / math.sqrt(SPREAD**2 + 80**2)
    errors = [
        (heun_sample(best_denoiser, noise, sigma_steps(count)) - exact).abs().max().item()
        for count in (64, 128, 256)
    ]
    assert errors[2] < 1e-3
    # Second order: half the step, a quarter of the error.
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_samples_have_the_mean_and_spread_of_the_data():
    with torch.no_grad():
        samples = heun_sample(Preconditioned(BestInside()), normal(20_000, 1), sigma_steps(40))
    assert samples.mean().item() == pytest.approx(MEAN, abs=4 * SPREAD / math.sqrt(20_000) + 0.01)
    assert samples.std().item() == pytest.approx(SPREAD, rel=0.02)


def test_a_model_that_may_return_a_velocity_is_refused():
    with pytest.raises(TypeError, match=r"Small may return anything.*Preconditioned\(network, sigma_data\)"):
        denoising_loss(Small(), normal(2, 6), torch.ones(2))


def test_the_loss_takes_no_target_so_none_can_be_wrong():
    # The velocity on a denoised output: what a denoiser that is perfect would be told it got wrong.
    clean, sigma = 0.5 * normal(4000, 1), torch.full((4000,), 0.05)
    noisy = clean + sigma[:, None] * normal(4000, 1, seed=1)
    velocity = (clean - noisy / (0.05**2 + 1)) * math.sqrt(0.05**2 + 1) / 0.05
    assert (velocity - clean).square().mean() > 100 * edm_loss(clean, clean, sigma).mean() + 0.5
    with pytest.raises(TypeError, match="target"):
        denoising_loss(Preconditioned(Small()), clean, sigma, target=velocity)


def test_the_network_is_handed_what_else_is_given():
    class Told(nn.Module):
        def forward(self, x: Tensor, c_noise: Tensor, shift: float, *, scale: float) -> Tensor:
            return scale * x + shift

    noisy, sigma = normal(3, 2), torch.ones(3)
    told = Preconditioned(Told())(noisy, sigma, 2.0, scale=0.0)
    expected = 0.2 * noisy + 0.5 / math.sqrt(1.25) * 2
    assert torch.allclose(told, expected, atol=1e-6)
    assert denoising_loss(Preconditioned(Told()), noisy, sigma, 2.0, scale=0.0).shape == (3,)


def test_a_generator_makes_the_loss_repeatable():
    model, clean, sigma = Preconditioned(Small()), normal(4, 6), torch.ones(4)
    first, second = (
        denoising_loss(model, clean, sigma, generator=torch.Generator().manual_seed(7)) for _ in range(2)
    )
    assert torch.equal(first, second)


def test_a_wrapped_model_is_asked_through_its_wrapper():
    calls = []
    model = Preconditioned(Small())
    wrapper = nn.DataParallel(model)  # without devices it only hands on
    wrapper.register_forward_hook(lambda *_: calls.append("wrapper"))
    clean, sigma, noise = normal(4, 6), torch.ones(4), normal(4, 6, seed=1)
    losses = denoising_loss(wrapper, clean, sigma, noise=noise)
    assert calls == ["wrapper"]
    assert torch.equal(losses, denoising_loss(model, clean, sigma, noise=noise))


@pytest.mark.parametrize("dtype", HALVES)
def test_under_autocast_the_coefficients_stay_exact(dtype: torch.dtype):
    clean, sigma, noise = normal(6, 6), torch.tensor(SIGMAS), normal(6, 6, seed=1)
    # This network has nothing that autocast would change: all that is left are the coefficients.
    exact = denoising_loss(Preconditioned(BestInside()), clean, sigma, noise=noise)
    with torch.autocast("cpu", dtype=dtype):
        losses = denoising_loss(Preconditioned(BestInside()), clean, sigma, noise=noise)
        half = edm_coefficients(torch.tensor([300.0], dtype=dtype))
    assert losses.dtype == torch.float32
    assert torch.equal(losses, exact)
    # The square of 300 is beyond float16.
    assert half.c_in.item() == pytest.approx(1 / math.sqrt(300**2 + 0.25), rel=1e-6)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_half_precision_network_trains_close_to_a_whole_one(dtype: torch.dtype):
    network = Small()
    clean, sigma, noise = normal(6, 6), torch.tensor(SIGMAS), normal(6, 6, seed=1)
    exact = denoising_loss(Preconditioned(network), clean, sigma, noise=noise)
    half = Preconditioned(network.to(dtype))
    losses = denoising_loss(half, clean.to(dtype), sigma, noise=noise)
    losses.mean().backward()
    assert losses.dtype == torch.float32
    assert losses.isfinite().all()
    assert network.layer.weight.grad is not None
    assert network.layer.weight.grad.isfinite().all()
    if dtype == torch.float16:  # bfloat16 rounds the clean data itself too coarsely to compare
        assert torch.allclose(losses, exact, rtol=0.05)


def test_the_weight_at_little_noise_is_beyond_float16_and_finite_here():
    sigma = torch.tensor([1 / 257], dtype=torch.float16)
    assert edm_loss_weight(sigma).item() > torch.finfo(torch.float16).max
    assert edm_loss_weight(sigma).isfinite()
    assert not torch.isfinite(sigma.square().reciprocal())


def test_a_state_dict_carries_sigma_data_and_refuses_another():
    first = Preconditioned(Small(), sigma_data=0.7)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    second = Preconditioned(Small(), sigma_data=0.7)
    second.load_state_dict(state)
    noisy = normal(3, 6)
    assert torch.equal(second(noisy, torch.ones(3)), first(noisy, torch.ones(3)))
    with pytest.raises(ValueError, match=r"trained with sigma_data=0\.7, and this denoiser has 0\.5"):
        Preconditioned(Small()).load_state_dict(state)


def test_weights_that_were_stored_in_half_precision_are_still_the_same_model_s():
    first, second = (Preconditioned(Small(), sigma_data=0.37) for _ in range(2))
    for dtype in HALVES:
        second.load_state_dict({name: tensor.to(dtype) for name, tensor in first.state_dict().items()})
    assert second.sigma_data == 0.37


def test_denoiser_and_loss_can_be_compiled():
    model = Preconditioned(Small())
    clean, sigma, noise = normal(4, 6), torch.ones(4), normal(4, 6, seed=1)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    losses = denoising_loss(compiled, clean, sigma, noise=noise)
    assert torch.allclose(losses, denoising_loss(model, clean, sigma, noise=noise), rtol=1e-5)


def test_mistakes_are_named():
    model = Preconditioned(Small())
    with pytest.raises(ValueError, match=r"one for each of 4 samples; got \(3,\)"):
        model(normal(4, 6), torch.ones(3))
    with pytest.raises(ValueError, match="sigma_data is 0"):
        Preconditioned(Small(), sigma_data=0)
    with pytest.raises(ValueError, match=r"differ in shape: \(2, 1\) and \(2, 4\)"):
        edm_loss(torch.ones(2, 1), torch.ones(2, 4), torch.ones(2))
    with pytest.raises(ValueError, match="at least 2 noise levels"):
        sigma_steps(1)
    with pytest.raises(ValueError, match="must fall from sigma_max to sigma_min"):
        sigma_steps(5, sigma_min=3.0, sigma_max=2.0)
    with pytest.raises(ValueError, match="must fall and end with 0"):
        heun_sample(model, normal(2, 6), torch.tensor([0.1, 1.0, 0.0]))

    class Narrow(nn.Module):
        def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
            return x[:, :1]

    with pytest.raises(
        ValueError, match=r"answers in another shape than it was asked: \(4, 1\) for \(4, 6\)"
    ):
        Preconditioned(Narrow())(normal(4, 6), torch.ones(4))


def test_the_example_of_the_page_runs():
    assert edm.__doc__ is not None
    example = edm.__doc__.split("## Example\n")[1].split("\n## ")[0]
    names: dict[str, Tensor] = {}
    exec(textwrap.dedent(example), names)
    assert names["losses"].shape == (64,)
    assert names["samples"].shape == (16, 2)
    assert names["knows_nothing"].item() == pytest.approx(1)
