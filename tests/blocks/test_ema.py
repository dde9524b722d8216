"""The average of the weights: its arithmetic, its warm-up, what it refuses and what a restart keeps."""

from __future__ import annotations

import copy
import io
import math

import numpy as np
import pytest
import torch
from torch import nn

from stethoscope.blocks.ema import EMA, average_, count_decay, power_decay
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting


def _net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def _train(model: nn.Module, ema: EMA, steps: int, generator: torch.Generator) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        loss = model(torch.randn(16, 4, generator=generator)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()


def _same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_power_decay_has_the_values_of_the_super_resolution_system() -> None:
    measured = {100: 0.968, 1000: 0.994, 5000: 0.998}
    for step, value in measured.items():
        assert power_decay(step - 1, decay=0.999, power=0.75) == pytest.approx(value, abs=5e-4)
    assert power_decay(9_990, decay=0.999, power=0.75) < 0.999 == power_decay(10_000, decay=0.999, power=0.75)
    assert power_decay(0) == 0.0


def test_the_count_decay_is_the_one_of_score_entropy_diffusion() -> None:
    assert [count_decay(n, decay=0.9999) for n in (0, 8, 90)] == [0.1, 0.5, 0.91]
    assert count_decay(10**7, decay=0.9999) == 0.9999


def test_the_average_is_what_numpy_computes() -> None:
    weight = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    model = nn.Module()
    model.weight = weight
    ema = EMA(model, decay=0.9, warmup="count")
    numbers = np.random.default_rng(0).normal(size=(40, 3))
    expected = np.zeros(3)
    for step, values in enumerate(numbers):
        weight.data = torch.from_numpy(values)
        ema.update()
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * values
    with ema.averaged():
        np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-13)
    np.testing.assert_array_equal(weight.detach().numpy(), numbers[-1])


def test_it_agrees_with_the_averaged_model_of_torch() -> None:
    model = _net()
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.95), use_buffers=True
    )
    average.update_parameters(model)  # its first update copies
    ema = EMA(model, decay=0.95, warmup="none")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        model(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
        average.update_parameters(model)
    ours = ema.state_dict()["shadow"]
    for name, one in average.module.state_dict().items():
        if one.is_floating_point():  # torch averages counters too: 11 batches instead of 30
            torch.testing.assert_close(ours[name], one, rtol=1e-6, atol=1e-7)


def test_buffers_are_averaged_and_integers_copied() -> None:
    model = _net()
    ema = EMA(model, decay=0.5, warmup="none")
    before = model[1].running_mean.clone()
    _train(model, ema, 1, torch.Generator().manual_seed(1))
    shadow = ema.state_dict()["shadow"]
    torch.testing.assert_close(shadow["1.running_mean"], (before + model[1].running_mean) / 2)
    assert shadow["1.num_batches_tracked"].item() == 1
    assert shadow["1.num_batches_tracked"].dtype == torch.int64


def test_steps_before_update_after_are_copied_and_then_every_third_is_taken() -> None:
    model = nn.Linear(1, 1, bias=False)
    ema = EMA(model, decay=0.5, warmup="none", update_after=2, update_every=3)
    seen = []
    for value in range(1, 10):
        nn.init.constant_(model.weight, float(value))
        ema.update()
        seen.append(ema.state_dict()["shadow"]["weight"].item())
    assert seen == [1, 2, 2, 2, 3.5, 3.5, 3.5, 5.75, 5.75]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_leave_the_average_bit_by_bit(bad: float) -> None:
    model = _net()
    ema = EMA(model, decay=0.9)
    _train(model, ema, 5, torch.Generator().manual_seed(1))
    before = copy.deepcopy(ema.state_dict()["shadow"])
    good = model[3].bias.detach().clone()
    with torch.no_grad():
        model[3].bias.fill_(bad)
    ema.update()
    # The tensors that were finite are left alone too: an average of half a step is an average of nothing.
    floats = [name for name, one in before.items() if one.is_floating_point()]
    assert all(torch.equal(ema.state_dict()["shadow"][name], before[name]) for name in floats)
    assert ema.skipped() == 1
    with torch.no_grad():
        model[3].bias.copy_(good)
    ema.update()
    assert ema.skipped() == 1
    assert all(one.isfinite().all() for one in ema.state_dict()["shadow"].values())


def test_a_mask_of_infinities_is_copied_and_does_not_stop_the_average() -> None:
    model = nn.Linear(2, 2)
    model.register_buffer("mask", torch.tensor([0.0, -math.inf]))
    ema = EMA(model, decay=0.5, warmup="none")
    before = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.add_(1.0)
    ema.update()
    assert ema.skipped() == 0
    torch.testing.assert_close(ema.state_dict()["shadow"]["weight"], before + 0.5)
    assert ema.state_dict()["shadow"]["mask"].tolist() == [0.0, -math.inf]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_average_of_half_weights_moves_where_half_itself_would_stand_still(dtype: torch.dtype) -> None:
    model = nn.Linear(1, 1, bias=False).to(dtype)
    nn.init.ones_(model.weight)
    ema = EMA(model, decay=0.999, warmup="none")
    nn.init.constant_(model.weight, 1.25)
    for _ in range(100):
        ema.update()
    expected = 1.25 - 0.25 * 0.999**100
    shadow = ema.state_dict()["shadow"]["weight"]
    assert shadow.dtype == torch.float32
    assert shadow.item() == pytest.approx(expected, rel=1e-5)
    naive = torch.ones((), dtype=dtype)
    for _ in range(100):
        naive = naive + (1.25 - naive) * 0.001
    assert naive.item() == 1.0
    with ema.averaged():
        assert model.weight.dtype == dtype
        assert model.weight.item() == torch.tensor(expected).to(dtype).item()


def test_an_update_does_not_wait_for_the_device() -> None:
    model = _net()
    ema = EMA(model)
    with NoWaiting():
        for _ in range(3):
            ema.update()


def test_a_resumed_run_is_bit_by_bit_the_one_that_was_not_stopped() -> None:
    settings = {"decay": 0.99, "warmup": "power", "power": 0.6, "update_after": 3, "update_every": 2}
    model, generator = _net(), torch.Generator().manual_seed(1)
    ema = EMA(model, **settings)
    _train(model, ema, 8, generator)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "rng": generator.get_state()}, file)
    _train(model, ema, 11, generator)

    file.seek(0)
    state = torch.load(file, weights_only=True)
    again = _net(seed=5)
    resumed = EMA(again, **settings)
    again.load_state_dict(state["model"])
    resumed.load_state_dict(state["ema"])
    generator.set_state(state["rng"])
    _train(again, resumed, 11, generator)
    assert _same(resumed.state_dict()["shadow"], ema.state_dict()["shadow"])
    assert resumed.step == ema.step == 19


def test_without_its_counter_a_resume_forgets_the_average() -> None:
    model, generator = _net(), torch.Generator().manual_seed(1)
    ema = EMA(model, decay=0.99)
    _train(model, ema, 20, generator)
    assert ema.decay > 0.89
    assert EMA(model, decay=0.99).decay == 0.0


def test_names_are_those_of_the_model_inside_compile() -> None:
    model = _net()
    compiled = torch.compile(model, backend="eager")
    ema = EMA(compiled, decay=0.5, warmup="none")
    assert ema.state_dict()["shadow"].keys() == model.state_dict().keys()
    with torch.no_grad():
        model[0].weight.add_(1.0)
    ema.update()
    plain = EMA(_net(seed=3))
    plain.load_state_dict(
        {**ema.state_dict(), "shadow": {f"_orig_mod.{k}": v for k, v in ema.state_dict()["shadow"].items()}}
    )
    assert _same(plain.state_dict()["shadow"], ema.state_dict()["shadow"])


def test_names_are_those_of_the_model_inside_data_parallel() -> None:
    model = _net()
    ema = EMA(nn.DataParallel(model))
    assert ema.state_dict()["shadow"].keys() == model.state_dict().keys()


def test_replaced_parameters_are_followed() -> None:
    model = nn.Linear(1, 1, bias=False)
    ema = EMA(model, decay=0.5, warmup="none")
    model.load_state_dict({"weight": torch.full((1, 1), 3.0)}, assign=True)
    start = ema.state_dict()["shadow"]["weight"].item()
    ema.update()
    assert ema.state_dict()["shadow"]["weight"].item() == pytest.approx((start + 3.0) / 2)


def test_the_weights_come_back_when_validation_raises() -> None:
    model = _net()
    ema = EMA(model)
    _train(model, ema, 3, torch.Generator().manual_seed(1))
    before = copy.deepcopy(model.state_dict())

    def validate() -> None:
        with ema.averaged():
            model(torch.randn(16, 4))  # in training mode, so that the buffers change
            raise KeyError("a sample is missing")

    with pytest.raises(KeyError):
        validate()
    assert _same(model.state_dict(), before)


def test_an_update_while_the_average_is_in_the_model_is_an_error() -> None:
    ema = EMA(_net())
    with ema.averaged(), pytest.raises(RuntimeError, match="the model holds the average"):
        ema.update()


def test_tied_weights_are_averaged_once_and_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    model[1].weight = model[0].weight
    ema = EMA(model)
    assert list(ema.state_dict()["shadow"]) == ["0.weight"]
    with ema.averaged():
        assert model[1].weight is model[0].weight


def test_mixed_dtypes_move_together_or_not_at_all() -> None:
    shadow = [torch.zeros(2), torch.zeros(2, dtype=torch.float64)]
    assert average_(shadow, [torch.ones(2), torch.full((2,), math.nan, dtype=torch.float64)], 0.5).item() == 0
    assert [one.tolist() for one in shadow] == [[0, 0], [0, 0]]
    assert average_(shadow, [torch.ones(2), torch.ones(2, dtype=torch.float64)], 0.5).item() == 1
    assert [one.tolist() for one in shadow] == [[0.5, 0.5], [0.5, 0.5]]


def test_weights_of_any_shape_and_layout_are_averaged() -> None:
    model = nn.Module()
    model.scalar = nn.Parameter(torch.tensor(1.0))
    model.empty = nn.Parameter(torch.zeros(0, 3))
    model.turned = nn.Parameter(torch.zeros(3, 2).t())
    model.last = nn.Parameter(torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last))
    model.complex = nn.Parameter(torch.tensor([1 + 2j]))
    ema = EMA(model, decay=0.75, warmup="none")
    with torch.no_grad():
        for one in model.parameters():
            one.add_(1.0)
        model.complex.add_(1j)
    ema.update()
    shadow = ema.state_dict()["shadow"]
    assert shadow["scalar"].item() == 1.25
    assert shadow["turned"].tolist() == [[0.25] * 3] * 2
    assert shadow["last"].unique().tolist() == [0.25]
    assert shadow["complex"].item() == 1.25 + 2.25j
    with torch.no_grad():
        model.complex.fill_(complex(1, math.nan))
    ema.update()
    assert ema.skipped() == 1
    assert ema.state_dict()["shadow"]["complex"].item() == 1.25 + 2.25j


def test_other_names_or_shapes_are_refused_in_words() -> None:
    ema = EMA(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"missing \['bias'\]"):
        ema.load_state_dict({"step": 1, "skipped": 0, "shadow": {"weight": torch.zeros(2, 2)}})
    with pytest.raises(ValueError, match=r"weight has shape \(3, 2\), not \(2, 2\)"):
        ema.load_state_dict(EMA(nn.Linear(2, 3)).state_dict() | {"step": 1})


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"decay": 1.0}, "decay is 1.0"),
        ({"warmup": "slow"}, "warmup is 'slow'"),
        ({"update_every": 0}, "update_every 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        EMA(nn.Linear(1, 1), **settings)


def test_weights_that_are_not_finite_at_the_start_are_refused() -> None:
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, math.nan)
    with pytest.raises(ValueError, match="weight is not finite at the start"):
        EMA(model)


def test_the_example_runs() -> None:
    run_example("ema")
