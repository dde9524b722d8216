"""Noise levels have the shares they claim, and the loss by noise level is a mean that nothing spoils."""

from __future__ import annotations

import io
import math
import textwrap

import numpy as np
import pytest
import torch
from scipy import stats

from stethoscope.blocks import sigma_sampling
from stethoscope.blocks.sigma_sampling import (
    LogNormal,
    LogUniform,
    SigmaBuckets,
    bucket_losses,
    sample_sigmas,
    sigma_grid,
)

NOISES = [
    (LogNormal(), stats.lognorm(s=1.2, scale=math.exp(-1.2))),
    (LogNormal(0.4, 2.0), stats.lognorm(s=2.0, scale=math.exp(0.4))),
    (LogUniform(), stats.loguniform(0.02, 100)),
    (LogUniform(0.5, 4.0), stats.loguniform(0.5, 4.0)),
]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("noise", "reference"), NOISES)
def test_shares_and_quantiles_are_those_of_scipy(noise, reference):
    for low, high in [(0.1, 1.0), (1.0, math.inf), (10.0, math.inf), (0.0, 0.002), (0.0, math.inf)]:
        expected = reference.cdf(high) - reference.cdf(low)
        assert noise.share_between(low, high) == pytest.approx(expected, abs=1e-12)
    probability = torch.tensor([0.001, 0.05, 0.5, 0.95, 0.999], dtype=torch.float64)
    np.testing.assert_allclose(noise.quantile(probability), reference.ppf(probability), rtol=1e-10)


def test_the_default_is_mostly_between_a_tenth_and_one():
    noise = LogNormal()
    assert noise.share_between(0.1, 1.0) == pytest.approx(0.66, abs=0.005)
    assert noise.share_between(1.0, math.inf) == pytest.approx(0.16, abs=0.005)
    assert noise.share_between(10.0, math.inf) == pytest.approx(0.0018, abs=5e-5)
    low, median, high = noise.quantile(torch.tensor([0.05, 0.5, 0.95])).tolist()
    assert (round(low, 3), round(median, 2), round(high, 2)) == (0.042, 0.30, 2.17)


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize(("noise", "reference"), NOISES)
def test_samples_follow_their_distribution(noise, reference, stratified):
    sigma = sample_sigmas(noise, 20_000, generator=seeded(), stratified=stratified)
    assert sigma.dtype == torch.float32
    assert stats.kstest(sigma.numpy(), reference.cdf).pvalue > 0.01
    # A draw that is stratified is closer to its distribution than chance allows.
    assert (stats.kstest(sigma.numpy(), reference.cdf).statistic < 1e-4) == stratified


def test_every_stratified_batch_has_one_level_of_each_part_in_random_order():
    part = LogNormal().quantile(torch.arange(1, 8) / 8)
    orders = []
    for seed in range(20):
        sigma = sample_sigmas(LogNormal(), 8, generator=seeded(seed), stratified=True)
        bucket = torch.bucketize(sigma, part)
        assert sorted(bucket.tolist()) == list(range(8))
        orders.append(tuple(bucket.tolist()))
    assert len(set(orders)) == 20


def test_stratified_batches_of_four_have_a_steadier_loss():
    # The loss of copying the input, by noise: what is left to chance is the noise alone.
    def spread(stratified: bool) -> float:
        generator = seeded()
        batches = [
            sample_sigmas(LogUniform(0.1, 10), 4, generator=generator, stratified=stratified).log().mean()
            for _ in range(2000)
        ]
        return torch.stack(batches).std().item()

    # The mean of n uniform numbers has deviation w / sqrt(12 n); of n stratified ones w / sqrt(12 n^3).
    width = math.log(100)
    assert spread(False) == pytest.approx(width / math.sqrt(12 * 4), rel=0.06)
    assert spread(True) == pytest.approx(width / math.sqrt(12 * 64), rel=0.06)


def test_a_generator_decides_the_draw_and_leaves_the_global_one_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second = (sample_sigmas(LogNormal(), 16, generator=seeded(5), stratified=True) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(sample_sigmas(LogNormal(), 16, generator=seeded(6), stratified=True), first)


def test_no_draw_is_zero_or_infinite():
    ends = sigma_sampling._inside(torch.tensor([0.0, 1.0]))
    for noise in (LogNormal(), LogUniform()):
        sigma = noise.quantile(ends)
        assert (sigma > 0).all()
        assert sigma.isfinite().all()


def test_the_grid_is_the_middle_of_equal_parts():
    np.testing.assert_allclose(
        sigma_grid(LogNormal(), 5),
        stats.lognorm(s=1.2, scale=math.exp(-1.2)).ppf([0.1, 0.3, 0.5, 0.7, 0.9]),
        1e-5,
    )


def test_the_mean_of_each_range_is_what_numpy_gives():
    buckets = SigmaBuckets([0.1, 1.0, 10.0])
    sigmas, losses = [], []
    for step in range(50):
        sigma = sample_sigmas(LogUniform(), 8, generator=seeded(step))
        loss = torch.rand(8, generator=seeded(100 + step)) + sigma
        buckets.update(loss, sigma)
        sigmas.append(sigma.numpy())
        losses.append(loss.numpy().astype(np.float64))
    all_sigmas, all_losses = np.concatenate(sigmas), np.concatenate(losses)
    index = np.digitize(all_sigmas, [0.1, 1.0, 10.0])
    logged = buckets.summary("train/loss")
    for place, name in enumerate(["below_0.1", "0.1_1", "1_10", "above_10"]):
        inside = all_losses[index == place]
        assert logged[f"train/loss/sigma_{name}"] == pytest.approx(inside.mean(), rel=1e-5)
        assert logged[f"train/loss/sigma_{name}/count"] == len(inside) > 0
    assert logged["train/loss/not_finite"] == 0


def test_an_edge_belongs_to_the_range_above_it():
    found = bucket_losses(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.999]), torch.tensor([1.0]))
    assert found.mean.tolist() == [2.0, 1.0]


def test_losses_that_are_not_finite_are_counted_and_not_added():
    buckets = SigmaBuckets([1.0])
    nan, inf = float("nan"), float("inf")
    buckets.update(torch.tensor([2.0, nan, inf, 4.0]), torch.tensor([0.5, 0.5, 2.0, 0.5]))
    buckets.update(torch.tensor([1.0, 1.0]), torch.tensor([nan, 2.0]))
    assert buckets.summary() == {
        "loss/sigma_below_1": 3.0,
        "loss/sigma_above_1": 1.0,
        "loss/sigma_below_1/count": 2.0,
        "loss/sigma_above_1/count": 1.0,
        "loss/not_finite": 3.0,
    }


def test_a_range_without_samples_has_a_count_and_no_mean():
    buckets = SigmaBuckets([1.0])
    buckets.update(torch.tensor([2.0]), torch.tensor([0.5]))
    logged = buckets.summary()
    assert "loss/sigma_above_1" not in logged
    assert logged["loss/sigma_above_1/count"] == 0
    assert math.isnan(buckets.expected_loss(LogNormal()))


def test_the_expected_loss_counts_each_range_by_its_share():
    buckets = SigmaBuckets([0.1, 1.0])
    # The ranges are drawn three, two and one times, which is not how often the noise has them.
    buckets.update(torch.tensor([1.0, 1, 1, 2, 2, 9]), torch.tensor([0.01, 0.02, 0.03, 0.3, 0.4, 5.0]))
    reference = stats.lognorm(s=1.2, scale=math.exp(-1.2))
    below, above = reference.cdf(0.1), 1 - reference.cdf(1.0)
    expected = below * 1 + (1 - below - above) * 2 + above * 9
    assert buckets.expected_loss(LogNormal()) == pytest.approx(expected, rel=1e-6)


def test_a_single_batch_of_a_steady_model_looks_like_divergence_and_its_ranges_do_not():
    # The untrained model of the diffusion prior: its error is the velocity, whatever the step.
    generator, buckets, batches = seeded(), SigmaBuckets([0.1, 1.0]), []
    halves = []
    for step in range(4000):
        sigma = sample_sigmas(LogNormal(), 4, generator=generator)
        clean = torch.randn(4, 16, generator=generator)
        noisy = clean + sigma[:, None] * torch.randn(4, 16, generator=generator)
        root = (sigma[:, None] ** 2 + 1).sqrt()
        losses = (noisy - (clean - noisy / root**2) * root / sigma[:, None]).square().mean(1)
        batches.append(losses.mean().item())
        buckets.update(losses, sigma)
        if step in (1999, 3999):
            halves.append(buckets.summary())
            buckets.reset()
    low, high = np.percentile(batches, [5, 95])
    assert high / low > 3
    for name in ("below_0.1", "0.1_1"):
        first, second = (half[f"loss/sigma_{name}"] for half in halves)
        assert first == pytest.approx(second, rel=0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_losses_are_averaged_in_float32(dtype):
    losses = torch.full((3000,), 60_000.0, dtype=dtype)
    buckets = SigmaBuckets([1.0])
    buckets.update(losses, torch.full((3000,), 0.5, dtype=dtype))
    assert buckets.summary()["loss/sigma_below_1"] == pytest.approx(losses[0].item(), rel=1e-5)


def test_making_the_model_half_leaves_the_means_their_digits():
    buckets = SigmaBuckets([0.1])
    buckets.update(torch.tensor([1.2345678]), torch.tensor([0.05]))
    halved = buckets.half()
    assert halved.mean.dtype == halved.edges.dtype == torch.float32
    assert halved.summary()["loss/sigma_below_0.1"] == pytest.approx(1.2345678, rel=1e-7)


def test_huge_losses_do_not_overflow_the_mean():
    buckets = SigmaBuckets([1.0])
    for _ in range(3):
        buckets.update(torch.full((8,), 2e38), torch.full((8,), 0.5))
    assert buckets.summary()["loss/sigma_below_1"] == pytest.approx(2e38, rel=1e-5)


def test_the_buckets_hold_no_gradient_and_give_the_plain_mean_to_train_on():
    weight = torch.tensor(2.0, requires_grad=True)
    buckets = SigmaBuckets()
    loss = buckets(weight * torch.tensor([1.0, 3.0]), torch.tensor([0.5, 0.5]))
    loss.backward()
    assert loss.item() == 4
    assert weight.grad is not None
    assert weight.grad.item() == 2
    assert not buckets.mean.requires_grad


def test_a_run_that_stops_and_goes_on_has_the_same_means():
    whole, first, second = SigmaBuckets(), SigmaBuckets(), SigmaBuckets([0.2, 2.0, 20.0])
    draws = [
        (torch.rand(4, generator=seeded(step)), sample_sigmas(LogUniform(), 4, generator=seeded(step)))
        for step in range(20)
    ]
    for step, (losses, sigma) in enumerate(draws):
        whole.update(losses, sigma)
        (first if step < 7 else second).update(losses, sigma)
        if step == 6:
            file = io.BytesIO()
            torch.save(first.state_dict(), file)
            file.seek(0)
            second.load_state_dict(torch.load(file, weights_only=True))
    assert second.summary() == whole.summary()


def test_updating_and_sampling_can_be_compiled():
    eager, buckets = SigmaBuckets(), SigmaBuckets()
    update = torch.compile(buckets.forward, backend="aot_eager", fullgraph=True)
    draw = torch.compile(
        lambda: sample_sigmas(LogNormal(), 8, stratified=True), backend="aot_eager", fullgraph=True
    )
    sigma = draw()
    part = torch.bucketize(sigma, LogNormal().quantile(torch.arange(1, 8) / 8))
    assert sorted(part.tolist()) == list(range(8))
    for _ in range(3):
        losses = torch.rand(8)
        update(losses, sigma)
        eager.update(losses, sigma)
    assert buckets.summary() == pytest.approx(eager.summary())


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="p_std is 0"):
        LogNormal(0.0, 0.0)
    with pytest.raises(ValueError, match="give 0 < low < high"):
        LogUniform(2.0, 1.0)
    with pytest.raises(ValueError, match="count is 0"):
        sample_sigmas(LogNormal(), 0)
    with pytest.raises(ValueError, match="count is 0"):
        sigma_grid(LogNormal(), 0)
    with pytest.raises(ValueError, match=r"edges must rise and be above 0; got \[1.0, 0.1\]"):
        SigmaBuckets([1.0, 0.1])
    with pytest.raises(ValueError, match="1 losses for 2 noise levels"):
        SigmaBuckets().update(torch.tensor(1.0), torch.ones(2))


def test_the_example_of_the_page_runs():
    assert sigma_sampling.__doc__ is not None
    example = sigma_sampling.__doc__.split("## Example\n")[1].split("\n## ")[0]
    names: dict[str, torch.Tensor] = {}
    exec(textwrap.dedent(example), names)
    assert names["losses"].shape == (8,)
