"""Absorbing diffusion agrees with its closed forms, and its chance level with a model that knows nothing."""

from __future__ import annotations

import math
import textwrap
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import Tensor, nn

from stethoscope.blocks import discrete_diffusion
from stethoscope.blocks.discrete_diffusion import (
    AbsorbingLoss,
    AbsorbingProcess,
    CorruptedTokens,
    CosineNoise,
    GeometricNoise,
    LogLinearNoise,
    ScoreNetwork,
    absorbing_loss,
    chance_level,
    chance_loss,
    corrupt_at_share,
    corrupt_at_times,
    evaluate_at_shares,
    log_scores,
    masked_share,
    mismatched_chance_level,
    sample_times,
    score_entropy,
    score_entropy_loss,
)

HALVES = [torch.float16, torch.bfloat16]
K = 36
SCHEDULES = [LogLinearNoise(), CosineNoise(1e-4, 0.8), GeometricNoise(1e-2, 20.0)]


class Zero(nn.Module):
    """A network that knows nothing: all logits are zero."""

    def __init__(self, tokens: int = K) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
        return torch.zeros(*tokens.shape, self.tokens)


class Told(nn.Module):
    """A network with one table of logits, and what it was told kept for the test."""

    def __init__(self, tokens: int = K) -> None:
        super().__init__()
        self.table = nn.Embedding(tokens + 1, tokens)
        self.seen: list[tuple[Tensor, Tensor]] = []

    def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
        self.seen.append((tokens, sigma))
        logits: Tensor = self.table(tokens)
        return logits


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def proteins(batch: int = 32, length: int = 64) -> Tensor:
    return torch.randint(0, K, (batch, length), generator=seeded())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rate_is_the_derivative_of_the_noise(schedule):
    t = torch.linspace(0.01, 0.98, 40, dtype=torch.float64)
    step = 1e-6
    slope = (schedule(t + step).sigma - schedule(t - step).sigma) / (2 * step)
    np.testing.assert_allclose(schedule(t).rate, slope, rtol=1e-6)
    assert schedule(torch.tensor([0.0, 1.0])).rate.min() >= 0


def test_the_schedules_are_those_of_their_papers():
    t = np.linspace(0.001, 1, 50)
    times = torch.from_numpy(t)
    np.testing.assert_allclose(LogLinearNoise(1e-3)(times).sigma, -np.log(1 - 0.999 * t), rtol=1e-12)
    geometric = 1e-4 ** (1 - t) * 20**t
    np.testing.assert_allclose(GeometricNoise(1e-4, 20.0)(times).sigma, geometric, rtol=1e-10)
    cosine = 0.8 + 0.5 * (1e-4 - 0.8) * (1 + np.cos(np.pi * t))
    np.testing.assert_allclose(CosineNoise(1e-4, 0.8)(times).sigma, cosine, rtol=1e-9)


def test_small_noise_keeps_its_digits_in_float32():
    t = torch.tensor([1e-3, 2e-3])
    for schedule in (LogLinearNoise(), CosineNoise(1e-9, 0.8), GeometricNoise()):
        np.testing.assert_allclose(schedule(t).sigma, schedule(t.double()).sigma, rtol=2e-6)


def test_only_noise_that_is_large_at_the_end_masks_nearly_all():
    assert masked_share(LogLinearNoise()) == pytest.approx(0.999)
    assert masked_share(CosineNoise(1e-4, 0.8)) == pytest.approx(0.55, abs=0.005)
    assert masked_share(CosineNoise(1e-4, 0.5)) == pytest.approx(0.39, abs=0.005)
    assert masked_share(LogLinearNoise(), time=0.5) == pytest.approx(0.4995)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tokens_are_masked_as_often_as_the_noise_says(schedule):
    process = AbsorbingProcess(K, schedule)
    clean = proteins(1, 40_000)
    for time in (0.1, 0.5, 1.0):
        corrupted = corrupt_at_times(process, clean, torch.tensor([time]), generator=seeded())
        share = masked_share(schedule, time)
        error = math.sqrt(share * (1 - share) / 40_000)
        assert corrupted.masked.float().mean().item() == pytest.approx(share, abs=4 * error + 1e-9)
        assert torch.equal(corrupted.tokens == K, corrupted.masked)
        assert torch.equal(corrupted.tokens[~corrupted.masked], clean[~corrupted.masked])


def test_the_entropy_is_the_formula_of_the_paper():
    process = AbsorbingProcess(K)
    clean = proteins(4, 10)
    corrupted = corrupt_at_times(process, clean, torch.tensor([0.05, 0.3, 0.7, 1.0]), generator=seeded())
    scores = torch.randn(4, 10, K, generator=seeded(1), dtype=torch.float64)
    found = score_entropy(scores, corrupted)
    expected = np.zeros((4, 10))
    for row, place in zip(*np.nonzero(corrupted.masked.numpy()), strict=True):
        r = 1 / (np.exp(corrupted.sigma[row].item()) - 1)
        s = scores[row, place].numpy()
        expected[row, place] = np.exp(s).sum() - r * s[clean[row, place]] + r * (np.log(r) - 1)
    assert corrupted.masked.any()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    loss = (corrupted.rate.numpy()[:, None] * expected).mean()
    assert score_entropy_loss(scores, corrupted).item() == pytest.approx(loss, rel=1e-4)


def test_the_entropy_is_least_and_zero_for_who_knows_every_token():
    process = AbsorbingProcess(K)
    clean = proteins(8, 16)
    corrupted = corrupt_at_share(process, clean, 0.5, generator=seeded())
    truth = 100.0 * nn.functional.one_hot(clean, K) - 100.0
    perfect = log_scores(truth + math.log(K), corrupted.sigma)
    assert score_entropy(perfect, corrupted).abs().max().item() < 1e-5
    for change in (-0.1, 0.1):
        assert (score_entropy(perfect + change, corrupted)[corrupted.masked] > 0).all()


def test_zero_logits_are_a_model_at_chance():
    process = AbsorbingProcess(K)
    corrupted = corrupt_at_times(
        process, proteins(), sample_times(32, generator=seeded()), generator=seeded()
    )
    loss = score_entropy_loss(log_scores(torch.zeros(32, 64, K), corrupted.sigma), corrupted)
    assert loss.item() == pytest.approx(chance_loss(corrupted).item(), rel=1e-4)


@pytest.mark.parametrize("difficulty", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_model_that_knows_nothing_scores_the_chance_level(schedule, difficulty):
    # Few tokens to choose from, so that many can be drawn: the number of them is a factor log K.
    process, model = AbsorbingProcess(3, schedule), ScoreNetwork(Zero(3))
    generator, clean = seeded(), proteins(256, 256) % 3
    losses = [
        absorbing_loss(process, model, clean, difficulty=difficulty, generator=generator).loss.item()
        for _ in range(12)
    ]
    error = np.std(losses) / math.sqrt(len(losses))
    expected = chance_level(process, difficulty)
    assert error < 0.03 * expected
    assert abs(np.mean(losses) - expected) < 4 * error


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_chance_level_is_the_integral_over_the_noise(schedule):
    def density(time: float) -> float:
        noise = schedule(torch.tensor(time, dtype=torch.float64))
        sigma, rate = noise.sigma.item(), noise.rate.item()
        return rate * (1 - math.exp(-sigma)) / (math.exp(sigma) - 1)

    for difficulty in (0.3, 1.0):
        value, _ = integrate.quad(density, 1e-3, difficulty)
        expected = math.log(K) * value / (difficulty - 1e-3)
        assert chance_level(AbsorbingProcess(K, schedule), difficulty) == pytest.approx(expected, rel=1e-6)


def test_with_log_linear_noise_a_curriculum_does_not_move_the_chance_level():
    levels = [chance_level(AbsorbingProcess(K), difficulty) for difficulty in (0.1, 0.5, 1.0)]
    assert levels == pytest.approx([0.999 * math.log(K)] * 3, rel=1e-9)


# The losses that the protein model's authors took for learning, and what chance is there.
TABLE = [(0, 0.230), (500, 0.735), (1000, 1.084), (2500, 1.629), (5000, 1.898)]


@pytest.mark.parametrize(("step", "chance"), TABLE)
def test_the_losses_of_the_protein_model_are_chance(step: int, chance: float):
    difficulty = 0.1 + 0.9 * (1 - math.exp(-3 * step / 5000))
    assert mismatched_chance_level(K, 1e-4, 0.8, difficulty) == pytest.approx(chance, abs=6e-4)


def test_without_a_mismatch_chance_is_the_level_of_the_process():
    assert mismatched_chance_level(K, 1e-4, 0.8, 1.0) == pytest.approx(1.973, abs=5e-4)
    assert mismatched_chance_level(K, 1e-4, 0.5, 1.0) == pytest.approx(1.41, abs=5e-3)
    noise = CosineNoise(1e-4, 0.8)
    first = noise(torch.tensor(1e-3, dtype=torch.float64)).sigma.item()
    whole = mismatched_chance_level(K, first, 0.8, 1.0) / (1 - 1e-3)
    assert chance_level(AbsorbingProcess(K, noise)) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(("sigma_max", "scale"), [(0.8, 0.333), (20.0, 0.1), (20.0, 1.0)])
def test_the_mismatched_chance_is_the_integral_that_scipy_finds(sigma_max: float, scale: float):
    value, _ = integrate.quad(
        lambda s: -math.expm1(-scale * s) / math.expm1(s), 1e-4, sigma_max, epsabs=1e-12
    )
    assert mismatched_chance_level(K, 1e-4, sigma_max, scale) == pytest.approx(math.log(K) * value, rel=1e-9)


def test_the_mismatched_chance_is_what_such_a_program_logs():
    """Corrupts with a third of the noise that model and loss are told, as the protein model did."""
    generator, clean = seeded(), proteins(4096, 64)
    t = (torch.arange(4096) + torch.rand(4096, generator=generator)) / 4096
    noise = CosineNoise(1e-4, 0.8)(t)
    masked = torch.rand(clean.shape, generator=generator) < 1 - torch.exp(-0.333 * noise.sigma)[:, None]
    keep = torch.ones_like(masked)
    told = CorruptedTokens(
        torch.where(masked, K, clean), clean, noise.sigma, noise.rate, masked, keep, vocabulary=K
    )
    loss = score_entropy_loss(log_scores(torch.zeros(4096, 64, K), noise.sigma), told).item()
    assert loss == pytest.approx(mismatched_chance_level(K, 1e-4, 0.8, 0.333), rel=0.02)


def test_model_and_loss_are_told_the_noise_that_corrupted():
    network, clean = Told(), proteins(4096, 64)
    result = absorbing_loss(
        AbsorbingProcess(K), ScoreNetwork(network), clean, difficulty=0.6, generator=seeded()
    )
    tokens, sigma = network.seen[0]
    # The share of masks in each sequence is what the sigma that the model saw predicts.
    share = (tokens == K).float().mean(1)
    expected = 1 - torch.exp(-sigma)
    deviation = (share - expected) / (expected * (1 - expected) / 64).sqrt()
    assert deviation.mean().abs().item() < 0.1
    assert deviation.std().item() == pytest.approx(1, abs=0.1)
    assert sigma.max() <= LogLinearNoise()(torch.tensor(0.6)).sigma
    # And the loss, computed again from what the model saw.
    again = corrupt_at_times(AbsorbingProcess(K), clean, torch.ones(4096))
    corrupted = CorruptedTokens(tokens, clean, sigma, again.rate, tokens == K, again.keep, K)
    rate = LogLinearNoise()((1 - torch.exp(-sigma)) / 0.999).rate
    entropy = score_entropy(log_scores(network.table(tokens), sigma), corrupted)
    assert result.loss.item() == pytest.approx((rate[:, None] * entropy).mean().item(), rel=1e-3)


def test_no_function_takes_a_second_sigma():
    # The noise is read from what was corrupted; that the record has one sigma is the guarantee.
    names = [one.name for one in fields(CorruptedTokens)]
    assert names.count("sigma") == 1
    process, clean = AbsorbingProcess(K), proteins(2, 8)
    extra: dict[str, Any] = {"sigma": torch.ones(2)}
    with pytest.raises(TypeError, match="sigma"):
        absorbing_loss(process, ScoreNetwork(Zero()), clean, **extra)


def test_times_are_drawn_up_to_the_difficulty_and_spread_evenly():
    times = sample_times(1000, difficulty=0.4, generator=seeded())
    assert times.min() >= 1e-3
    assert times.max() <= 0.4
    part = ((times - 1e-3) / 0.399 * 1000).long().clamp(max=999)
    # Rounding may move one to the part beside it.
    assert len(part.unique()) >= 990
    free = sample_times(1000, difficulty=0.4, stratified=False, generator=seeded())
    assert len(((free - 1e-3) / 0.399 * 1000).long().unique()) < 750
    assert torch.equal(times, sample_times(1000, difficulty=0.4, generator=seeded()))


def test_padding_is_neither_masked_nor_counted():
    process, model = AbsorbingProcess(K), ScoreNetwork(Told())
    short = proteins(16, 20)
    # Padding may be a number that is no token.
    padded = torch.cat([short, torch.full((16, 12), 99)], dim=1)
    keep = torch.arange(32).expand(16, 32) < 20
    times = sample_times(16, generator=seeded())
    corrupted = corrupt_at_times(process, padded, times, keep=keep, generator=seeded())
    assert (corrupted.tokens[:, 20:] == 99).all()
    scores = model.network.table(corrupted.tokens.clamp(max=K))
    found = score_entropy_loss(scores, corrupted)
    masked = corrupted.masked[:, :20]
    alone = CorruptedTokens(
        corrupted.tokens[:, :20], short, corrupted.sigma, corrupted.rate, masked, torch.ones_like(masked), K
    )
    assert found.item() == pytest.approx(score_entropy_loss(scores[:, :20], alone).item(), rel=1e-5)
    assert chance_loss(corrupted).item() == pytest.approx(chance_loss(alone).item(), rel=1e-5)


def test_a_batch_of_padding_alone_costs_nothing_and_tells_nothing():
    keep = torch.zeros(2, 8, dtype=torch.bool)
    result = absorbing_loss(AbsorbingProcess(K), ScoreNetwork(Zero()), proteins(2, 8), keep=keep)
    assert result.loss.item() == 0
    assert result.ratio.item() == 1
    scores = evaluate_at_shares(AbsorbingProcess(K), ScoreNetwork(Zero()), proteins(2, 8), keep=keep)
    assert all(math.isnan(score.ratio) for score in scores)


def test_the_ratio_to_chance_is_steady_where_the_loss_is_not():
    # 30 batches of 4 sequences at rising difficulty, and a model that knows nothing.
    process, generator = AbsorbingProcess(K, CosineNoise(1e-4, 0.8)), seeded()
    results = [
        absorbing_loss(
            process, ScoreNetwork(Zero()), proteins(4, 64), difficulty=0.1 + 0.03 * step, generator=generator
        )
        for step in range(30)
    ]
    losses = np.array([one.loss.item() for one in results])
    assert losses[-5:].mean() > 1.5 * losses[:5].mean()
    np.testing.assert_allclose([one.ratio.item() for one in results], 1, rtol=1e-3)


def test_what_a_model_knows_shows_in_the_ratio():
    # Only 6 of 36 tokens occur, and the model knows that: log 6 / log 36 = 1/2.
    process, clean = AbsorbingProcess(K), proteins(64, 64) % 6
    network = Told()
    with torch.no_grad():
        network.table.weight[:] = torch.where(torch.arange(K) < 6, math.log(6), -30.0)
    for score in evaluate_at_shares(process, ScoreNetwork(network), clean):
        assert score.ratio == pytest.approx(0.5, abs=1e-3)
        assert score.entropy == pytest.approx((1 - score.share) / score.share * math.log(6), rel=1e-3)
    result = absorbing_loss(process, ScoreNetwork(network), clean, generator=seeded())
    assert result.ratio.item() == pytest.approx(0.5, abs=1e-2)


def test_evaluation_masks_the_same_tokens_whatever_was_drawn_before():
    process, clean, network = AbsorbingProcess(K), proteins(), Told()
    first = evaluate_at_shares(process, ScoreNetwork(network), clean, shares=(0.2, 0.8))
    torch.rand(17)
    second = evaluate_at_shares(process, ScoreNetwork(network), clean, shares=(0.2, 0.8))
    assert first == second
    seen = [tokens for tokens, _ in network.seen]
    assert torch.equal(seen[0], seen[2])
    assert torch.equal(seen[1], seen[3])
    assert (seen[0] == K).float().mean().item() == pytest.approx(0.2, abs=0.04)
    assert not any(parameter.grad is not None for parameter in network.parameters())


def test_a_small_model_learns_below_chance():
    torch.manual_seed(0)
    process, model = AbsorbingProcess(K), ScoreNetwork(Told())
    clean = proteins(32, 16) % 6
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    for _ in range(60):
        optimizer.zero_grad()
        absorbing_loss(process, model, clean).loss.backward()
        optimizer.step()
    # It cannot know more than which six tokens occur.
    for score in evaluate_at_shares(process, model, clean):
        assert score.ratio == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("dtype", HALVES)
def test_half_precision_scores_do_not_overflow(dtype: torch.dtype):
    # At a noise of 1e-5 the ratio is 1e5: beyond float16, and its entropy far beyond.
    clean = proteins(4, 64)
    sigma = torch.full((4,), 1e-5)
    everywhere = torch.ones_like(clean, dtype=torch.bool)
    corrupted = CorruptedTokens(
        torch.full_like(clean, K), clean, sigma, torch.ones(4), everywhere, everywhere, vocabulary=K
    )
    logits = torch.zeros(4, 64, K, dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", dtype=dtype):
        entropy = score_entropy(log_scores(logits, sigma.to(torch.bfloat16).float()), corrupted)
        loss = score_entropy_loss(log_scores(logits, sigma), corrupted)
    loss.backward()
    assert entropy.dtype == loss.dtype == torch.float32
    assert loss.item() == pytest.approx(math.log(K) / math.expm1(1e-5), rel=1e-3)
    assert loss.item() > torch.finfo(torch.float16).max
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_an_extreme_score_of_a_token_that_is_not_masked_spoils_no_gradient():
    process, clean = AbsorbingProcess(K), proteins(2, 16)
    corrupted = corrupt_at_share(process, clean, 0.5, generator=seeded())
    logits = torch.zeros(2, 16, K)
    logits[~corrupted.masked] = 200.0  # its exponential is beyond float32
    logits.requires_grad_()
    score_entropy_loss(logits, corrupted).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert not logits.grad[~corrupted.masked].any()


def test_large_noise_is_finite():
    clean = proteins(1, 8)
    process = AbsorbingProcess(K, GeometricNoise(1e-3, 200.0))
    corrupted = corrupt_at_times(process, clean, torch.ones(1), generator=seeded())
    assert corrupted.masked.all()
    assert score_entropy_loss(log_scores(torch.zeros(1, 8, K), corrupted.sigma), corrupted).isfinite()


def test_a_state_dict_gives_the_same_scores_again():
    first, second = ScoreNetwork(Told()), ScoreNetwork(Told())
    second.load_state_dict(first.state_dict())
    tokens, sigma = proteins(2, 8), torch.tensor([0.1, 2.0])
    assert torch.equal(first(tokens, sigma), second(tokens, sigma))


def test_a_step_can_be_compiled():
    network = nn.Sequential(nn.Embedding(K + 1, 8), nn.Linear(8, K))

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, tokens: Tensor, sigma: Tensor) -> Tensor:
            logits: Tensor = self.network(tokens)
            return logits

    process, model = AbsorbingProcess(K), ScoreNetwork(Plain())

    def step(clean: Tensor, times: Tensor, keep: Tensor) -> AbsorbingLoss:
        corrupted = corrupt_at_times(process, clean, times, keep=keep)
        loss = score_entropy_loss(model(corrupted.tokens, corrupted.sigma), corrupted)
        return AbsorbingLoss(loss, chance_loss(corrupted))

    clean, keep = proteins(4, 16), torch.arange(16).expand(4, 16) < 12
    # At this time all tokens are masked but one in a thousand, so both draws agree.
    times = torch.full((4,), 1.0)
    torch.manual_seed(0)
    eager = step(clean, times, keep)
    torch.manual_seed(0)
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)(clean, times, keep)
    assert compiled.loss.item() == pytest.approx(eager.loss.item(), rel=1e-4)
    assert compiled.ratio.item() == pytest.approx(eager.ratio.item(), rel=1e-4)


def test_mistakes_are_named():
    process, clean = AbsorbingProcess(K), proteins(2, 8)
    with pytest.raises(ValueError, match="vocabulary is 1"):
        AbsorbingProcess(1)
    with pytest.raises(ValueError, match="eps is 0"):
        LogLinearNoise(0.0)
    for schedule in (CosineNoise, GeometricNoise):
        with pytest.raises(ValueError, match="give 0 < sigma_min < sigma_max"):
            schedule(1.0, 0.5)
    with pytest.raises(ValueError, match=r"difficulty is 1\.5"):
        sample_times(4, difficulty=1.5)
    with pytest.raises(ValueError, match="3 times for 2 sequences"):
        corrupt_at_times(process, clean, torch.ones(3))
    with pytest.raises(ValueError, match=r"tokens must be whole numbers \(B, L\); got torch.float32"):
        corrupt_at_times(process, clean.float(), torch.ones(2))
    with pytest.raises(ValueError, match="keep must be boolean and shaped as the tokens"):
        corrupt_at_times(process, clean, torch.ones(2), keep=torch.ones(2, 8))
    with pytest.raises(ValueError, match="share is 1"):
        corrupt_at_share(process, clean, 1.0)
    corrupted = corrupt_at_share(process, clean, 0.5)
    with pytest.raises(
        ValueError, match=r"shaped \(2, 8, 36\), one for each token and none for the mask; got"
    ):
        score_entropy(torch.zeros(2, 8, K + 1), corrupted)


def test_the_example_of_the_page_runs():
    assert discrete_diffusion.__doc__ is not None
    example = discrete_diffusion.__doc__.split("## Example\n")[1].split("\n## ")[0]
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    exec(textwrap.dedent(example), names)
    assert names["result"].ratio.item() == pytest.approx(1, abs=0.3)
