"""Weights of loss terms: that they move, that they are bounded, and what never enters them."""

from __future__ import annotations

import io
import json
import logging
import math

import pytest
import torch
import torch._dynamo.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.blocks.loss_balancing import Balancing, LossBalancer, balanced, initial_balance, usable_logs
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting
from tests.guard.launching import launched


def _step(balancer: LossBalancer, *values: float) -> torch.Tensor:
    total: torch.Tensor = balancer(
        {name: torch.tensor(value) for name, value in zip(balancer.terms, values, strict=True)}
    )
    return total


def _two(**options: float) -> LossBalancer:
    return LossBalancer({"l1": 1.0, "ssim": 0.05}, **options)


def test_weights_are_one_while_the_baseline_is_made() -> None:
    balancer = _two(baseline_steps=5, momentum=0.0, adaptation_rate=1.0)
    for step in range(5):
        total = _step(balancer, 2.0**-step, 1.0)
        assert balancer.weights() == {"l1": 1.0, "ssim": 1.0} or step == 4
        assert step == 4 or total.item() == pytest.approx(2.0**-step + 0.05)
    # The mean of the logarithms of 1, 1/2, 1/4, 1/8, 1/16 is that of 1/4.
    assert balancer.report()["l1"]["baseline"] == pytest.approx(0.25)


def test_a_lasting_drift_moves_the_weights_by_the_closed_form() -> None:
    rate, threshold, falls_by = 0.01, 0.05, 4.0
    balancer = _two(
        baseline_steps=1,
        momentum=0.0,
        adaptation_rate=rate,
        threshold=threshold,
        max_weight=10,
        min_weight=0.1,
    )
    _step(balancer, 1.0, 1.0)
    for steps in range(1, 301):
        _step(balancer, 1.0 / falls_by, 1.0)
        target = math.log(falls_by) / 2 - threshold
        expected = target * (1 - (1 - rate) ** steps)
        weights = balancer.weights()
        assert math.log(weights["ssim"]) == pytest.approx(expected, abs=1e-5)
        assert math.log(weights["l1"]) == pytest.approx(-expected, abs=1e-5)
    assert weights["ssim"] > 1.8  # the scheduler that never accumulates would be at 1.01


def test_the_level_follows_with_momentum() -> None:
    balancer = _two(baseline_steps=1, momentum=0.9)
    _step(balancer, 1.0, 1.0)
    for _ in range(7):
        _step(balancer, math.e, 1.0)
    assert math.log(balancer.report()["l1"]["level"]) == pytest.approx(1 - 0.9**7, rel=1e-5)


def test_terms_that_fall_together_keep_their_weights() -> None:
    balancer = _two(baseline_steps=3)
    for step in range(400):
        _step(balancer, 0.3 * 0.99**step, 7.0 * 0.99**step)
    assert balancer.weights() == pytest.approx({"l1": 1.0, "ssim": 1.0}, abs=1e-4)


def test_a_drift_below_the_threshold_moves_nothing() -> None:
    balancer = _two(baseline_steps=1, momentum=0.0, threshold=0.1)
    _step(balancer, 1.0, 1.0)
    for _ in range(200):
        _step(balancer, 1.15, 1.0)  # a drift of 0.07 to each side
    assert balancer.weights() == {"l1": 1.0, "ssim": 1.0}


def test_weights_return_when_the_terms_come_together_again() -> None:
    balancer = _two(baseline_steps=1, momentum=0.5, adaptation_rate=0.1)
    _step(balancer, 1.0, 1.0)
    for _ in range(100):
        _step(balancer, 0.1, 1.0)
    assert balancer.weights()["ssim"] > 2
    for _ in range(300):
        _step(balancer, 1.0, 1.0)
    assert balancer.weights() == pytest.approx({"l1": 1.0, "ssim": 1.0}, abs=1e-4)


losses = st.one_of(
    st.floats(min_value=0.0, max_value=2.0**100, width=32),
    st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-30]),
)


@settings(max_examples=40)
@given(
    series=st.lists(st.tuples(losses, losses, losses), min_size=1, max_size=12),
    rate=st.sampled_from([0.01, 0.5, 1.0]),
    momentum=st.sampled_from([0.0, 0.5, 0.99]),
)
def test_whatever_the_losses_are_the_weights_are_finite_and_within_their_bounds(
    series: list[tuple[float, float, float]], rate: float, momentum: float
) -> None:
    balancer = LossBalancer(
        {"a": 1.0, "b": 1.0, "c": 1.0},
        baseline_steps=2,
        adaptation_rate=rate,
        momentum=momentum,
        min_weight=0.2,
        max_weight=4.0,
    )
    for values in series:
        _step(balancer, *values)
        lowest, highest = torch.tensor(0.2).item(), 4.0
        assert all(lowest <= weight <= highest for weight in balancer.weights().values())
        assert all(math.isfinite(number) for row in balancer.report().values() for number in row.values())


def test_a_weight_never_goes_beyond_the_drift_that_asks_for_it() -> None:
    """What the scheduler that ran away to 100 did not do."""
    balancer = _two(baseline_steps=1, momentum=0.0, adaptation_rate=0.2, max_weight=100.0, min_weight=1e-6)
    _step(balancer, 1.0, 1.0)
    for _ in range(300):
        _step(balancer, 0.25, 1.0)
    assert balancer.weights() == pytest.approx(
        {"l1": math.exp(0.05) / 2, "ssim": 2 / math.exp(0.05)}, rel=1e-4
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_values_that_cannot_be_learned_from_change_no_statistics(bad: float) -> None:
    balancer = _two(baseline_steps=2, momentum=0.5)
    for _ in range(4):
        _step(balancer, 1.0, 2.0)
    before = balancer.report()
    _step(balancer, bad, bad)
    after = balancer.report()
    for name in after:
        assert after[name].pop("ignored") == before[name].pop("ignored") + 1 == 1
    assert after == before


def test_the_total_does_not_hide_a_loss_that_is_nan() -> None:
    assert _step(_two(), math.nan, 1.0).isnan()


def test_the_gradient_is_that_of_constant_weights() -> None:
    balancer = _two(baseline_steps=1, momentum=0.0, adaptation_rate=0.5)
    _step(balancer, 1.0, 1.0)
    x = torch.tensor(0.3, requires_grad=True)
    total = balancer({"l1": x**2, "ssim": 3 * x})
    total.backward()
    weights = balancer.weights()
    assert weights["l1"] != 1.0
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(weights["l1"] * 2 * 0.3 + weights["ssim"] * 0.05 * 3, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_terms_of_any_precision_are_taken(dtype: torch.dtype) -> None:
    balancer = _two()
    total = balancer({"l1": torch.tensor(0.5, dtype=dtype), "ssim": torch.tensor(1.0)})
    assert total.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert total.item() == pytest.approx(0.55)


def test_evaluation_moves_nothing() -> None:
    balancer = _two(baseline_steps=1, momentum=0.0).train()
    _step(balancer, 1.0, 1.0)
    balancer.eval()
    before = balancer.report()
    _step(balancer, 0.1, 1.0)
    assert balancer.report() == before


def test_no_step_waits_for_the_device() -> None:
    balancer = _two()
    terms = {"l1": torch.tensor(0.1), "ssim": torch.tensor(0.2)}
    with NoWaiting():
        for _ in range(3):
            balancer(terms)


def test_a_state_goes_through_a_file_and_goes_on_bit_by_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    series = torch.rand(60, 2, generator=generator).tolist()
    balancer = _two(baseline_steps=5, adaptation_rate=0.1)
    for values in series[:25]:
        _step(balancer, *values)
    file = io.BytesIO()
    torch.save(balancer.state_dict(), file)
    file.seek(0)
    resumed = _two(baseline_steps=5, adaptation_rate=0.1)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for values in series[25:]:
        assert torch.equal(_step(balancer, *values), _step(resumed, *values))
    assert resumed.report() == balancer.report()
    assert resumed.steps == balancer.steps == 60


def test_a_state_of_other_terms_is_refused() -> None:
    state = LossBalancer({"l1": 1.0, "fft": 1.0}).state_dict()
    with pytest.raises(ValueError, match=r"\['l1', 'fft'\], not \['l1', 'ssim'\]"):
        _two().load_state_dict(state)


def test_weights_are_logged_every_so_many_steps(caplog: pytest.LogCaptureFixture) -> None:
    balancer = _two(monitor_every=2)
    with caplog.at_level(logging.INFO, "stethoscope.blocks.loss_balancing"):
        for _ in range(5):
            _step(balancer, 1.0, 1.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"step {step}: weight/l1 1, weight/ssim 1" for step in (2, 4)
    ]


def test_the_pure_step_compiles_to_the_same_numbers() -> None:
    settings = Balancing(baseline_steps=2, momentum=0.5)
    compiled = torch.compile(balanced, backend="aot_eager", fullgraph=True)
    plain = ours = initial_balance(2)
    for terms in torch.rand(6, 2, generator=torch.Generator().manual_seed(0)):
        logs, usable = usable_logs(terms)
        plain, ours = balanced(plain, logs, usable, settings), compiled(ours, logs, usable, settings)
    for one, other in zip(plain, ours, strict=True):
        torch.testing.assert_close(one, other)


def test_the_module_is_compiled_once_for_all_steps() -> None:
    counter = torch._dynamo.testing.CompileCounter()
    plain, ours = _two(baseline_steps=2, momentum=0.5), _two(baseline_steps=2, momentum=0.5)
    compiled = torch.compile(ours, backend=counter, fullgraph=True)
    for row in torch.rand(8, 2, generator=torch.Generator().manual_seed(0)):
        terms = dict(zip(plain.terms, row.unbind(), strict=True))
        torch.testing.assert_close(compiled(terms), plain(terms))
    assert counter.frame_count == 1
    assert ours.weights() == pytest.approx(plain.weights())
    assert ours.steps == 8


def test_missing_and_unknown_terms_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"got the terms \['l1'\], not \['l1', 'ssim'\]"):
        _two()({"l1": torch.tensor(1.0)})
    with pytest.raises(ValueError, match="no terms"):
        LossBalancer({})


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"adaptation_rate": 0.0}, "adaptation_rate is 0.0"),
        ({"threshold": -1.0}, "threshold is -1.0"),
        ({"baseline_steps": 0}, "baseline_steps is 0"),
        ({"min_weight": 2.0}, "min_weight is 2.0"),
        ({"max_weight": math.inf}, "max_weight inf"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        _two(**settings)


RANKS = """
import json, os
import torch
import torch.distributed as dist
from stethoscope.blocks.loss_balancing import LossBalancer
dist.init_process_group("gloo")
rank = dist.get_rank()
balancer = LossBalancer({"a": 1.0, "b": 1.0}, baseline_steps=1, momentum=0.0, adaptation_rate=1.0,
                        threshold=0.0, min_weight=0.01, max_weight=100.0, across_ranks=True)
balancer({"a": torch.tensor(1.0), "b": torch.tensor(1.0)})
# Rank 0 sees the term fall 16-fold, rank 1 sees NaN: the mean is that of rank 0 alone.
balancer({"a": torch.tensor(1 / 16 if rank == 0 else float("nan")), "b": torch.tensor(1.0)})
first = balancer.weights()
balancer({"a": torch.tensor(1 / 16 if rank == 0 else 1.0), "b": torch.tensor(1.0)})
print(json.dumps([first, balancer.weights()]))
dist.destroy_process_group()
"""


def test_all_ranks_learn_the_same_weights() -> None:
    one, other = launched(RANKS)
    assert one == other, json.dumps([one, other])
    first, second = one
    assert first == pytest.approx({"a": 0.25, "b": 4.0})
    assert second == pytest.approx({"a": 0.5, "b": 2.0})


def test_the_example_runs() -> None:
    assert "ssim" in run_example("loss_balancing")
