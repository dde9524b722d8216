"""A bad step, repeated from its black box."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stethoscope.errors import StethoscopeError
from stethoscope.guard.boxes import black_box
from stethoscope.guard.boxes.replaying import Replay, replay
from stethoscope.guard.culprit.culprit import find
from stethoscope.guard.culprit.recall import Recall
from tests.guard.small_nets import Net, Overflowing, Rooted


def recorded(folder: Path, model: nn.Module, *args: Any, half: bool = False, **given: Any) -> Path:
    """The black box of one call of a model."""
    recall = Recall(model)
    recall.step, recall.batch = 3, given.pop("batch", None)
    with torch.autocast("cpu", dtype=torch.float16, enabled=half):
        model(*args)
    (call,) = recall.calls(3)
    recall.close()
    return black_box.write(folder, 3, model=model, call=call, culprit=find(model, call), **given)


def replayed(path: Path, build: Callable[[], Any], half: str | None = None) -> Replay:
    return replay(black_box.read(path), build, half=half)


def mean(output: Tensor, batch: Any) -> Tensor:
    return output.float().mean()


def test_an_overflow_in_half_precision_is_repeated_bit_for_bit(tmp_path: Path) -> None:
    path = recorded(tmp_path, Overflowing(), torch.randn(3, 4), half=True)
    torch.manual_seed(99)
    result = replayed(path, Overflowing)
    assert result.repeated
    assert result.same_place
    assert result.bit_identical
    assert "overflows in half precision only: first in second (Linear)" in result.verdict()
    assert not replayed(path, Overflowing, half="bfloat16").repeated
    assert not replayed(path, Overflowing, half="none").repeated


def test_dropout_and_batch_statistics_are_repeated_bit_for_bit(tmp_path: Path) -> None:
    net = Net()
    path = recorded(tmp_path, net, torch.randn(4, 8))
    result = replayed(path, Net)
    assert not result.repeated
    assert result.bit_identical
    assert result.verdict() == "The step is finite on replay: the forward pass."


def test_a_row_of_nan_is_found_again_with_its_sample(tmp_path: Path) -> None:
    x = torch.randn(3, 4)
    x[1] = math.nan
    path = recorded(tmp_path, Rooted(), x, samples=["a", "b", "c"])
    assert "in the samples b" in replayed(path, Rooted).verdict()


def test_a_parameter_that_is_nan_is_found_again(tmp_path: Path) -> None:
    model = Rooted()
    with torch.no_grad():
        model.head.bias.fill_(math.nan)
    result = replayed(recorded(tmp_path, model, torch.randn(3, 4)), Rooted)
    assert result.repeated
    assert "head.bias" in result.verdict()


def test_the_root_of_zero_is_found_in_the_backward_pass(tmp_path: Path) -> None:
    path = recorded(tmp_path, Rooted(), torch.randn(3, 4))
    assert not replayed(path, Rooted).repeated
    result = replayed(path, lambda: (Rooted(), mean))
    assert result.repeated
    assert result.backward is not None
    assert result.backward.function == "SqrtBackward0"
    assert Path(result.backward.line.rpartition(":")[0]).name == "small_nets.py"
    assert result.backward.first == "first (Linear)"
    assert {one.name for one in result.backward.bad} == {"first.weight", "first.bias"}
    assert "the backward pass is not: 2 of 4 gradients hold NaN or infinity" in result.verdict()


def test_a_loss_scale_that_is_too_high_is_told_from_a_fault(tmp_path: Path) -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.second(self.first(x))
            return out

    path = recorded(tmp_path, Plain(), torch.ones(3, 4), half=True, loss_scale=2.0**24)
    result = replayed(path, lambda: (Plain(), mean))
    assert result.repeated
    assert result.backward_in_float32 is not None
    assert result.backward_in_float32.finite
    assert "In float32 it is finite: half precision, or the loss scale, is too much" in result.verdict()


def test_the_loss_is_given_the_recorded_batch(tmp_path: Path) -> None:
    x = torch.randn(3, 4)
    path = recorded(tmp_path, Rooted(), x, batch=(x, torch.tensor([[0.0], [math.inf], [0.0]])))

    def loss(output: Tensor, batch: Any) -> Tensor:
        return nn.functional.mse_loss(output, batch[1])

    result = replayed(path, lambda: (Rooted(), loss))
    assert result.verdict() == "The forward pass is finite, and the loss is not: it is inf."


def test_the_optimizers_step_is_taken_from_the_recorded_state(tmp_path: Path) -> None:
    def build() -> tuple[nn.Module, Any, torch.optim.Optimizer]:
        model = nn.Linear(4, 1)
        return model, mean, torch.optim.AdamW(model.parameters())

    model, loss, optimizer = build()
    loss(model(torch.ones(2, 4)), None).backward()
    optimizer.step()
    path = recorded(tmp_path, model, torch.ones(2, 4), optimizers=[optimizer])
    result = replayed(path, build)
    assert result.spoiled == ()
    assert not result.repeated
    assert result.verdict().endswith("the optimizer's step.")
    optimizer.state[model.weight]["exp_avg_sq"].fill_(-1)
    broken = recorded(tmp_path, model, torch.ones(2, 4), optimizers=[optimizer])
    result = replayed(broken, build)
    assert result.repeated
    assert result.verdict() == "Every gradient is finite, and the optimizer's step makes weight not finite."


def test_another_model_is_refused_with_the_names_that_differ(tmp_path: Path) -> None:
    path = recorded(tmp_path, Rooted(), torch.randn(3, 4))
    with pytest.raises(
        StethoscopeError, match=r"the model has not: first\.bias.*; the black box has not: bias, weight"
    ):
        replayed(path, lambda: nn.Linear(4, 1))

    def narrower() -> nn.Module:
        model = Rooted()
        model.head = nn.Linear(3, 1)
        return model

    with pytest.raises(StethoscopeError, match=r"head.weight \(\[1, 4\] recorded, \[1, 3\] built\)"):
        replayed(path, narrower)


def test_what_build_gives_is_checked(tmp_path: Path) -> None:
    path = recorded(tmp_path, Rooted(), torch.randn(3, 4))

    def fails() -> nn.Module:
        raise FileNotFoundError("no config.yml")

    for build, message in (
        (fails, "failed: FileNotFoundError: no config.yml"),
        (lambda: "model", r"returned \(str\); it must return a model"),
        (lambda: (Rooted(), 3), r"returned \(Rooted, int\)"),
        (lambda: (Rooted(), lambda output, batch: output), "a tensor of shape"),
        (lambda: (Rooted(), lambda output: output), "the loss that build"),
    ):
        with pytest.raises(StethoscopeError, match=message):
            replayed(path, build)


def test_a_box_without_the_arguments_cannot_be_replayed(tmp_path: Path) -> None:
    class Takes(nn.Module):
        def forward(self, x: Tensor, graph: object) -> Tensor:
            return x

    path = recorded(tmp_path, Takes(), torch.ones(2), object())
    with pytest.raises(StethoscopeError, match=r"could not hold every argument .* \(builtins.object\)"):
        replayed(path, Takes)
    with pytest.raises(StethoscopeError, match="holds no call of the model"):
        replayed(black_box.write(tmp_path, 9), Takes)


def test_what_is_not_as_it_was_is_noted(tmp_path: Path) -> None:
    checkpoint = tmp_path / "last.safetensors"
    checkpoint.write_bytes(b"weights")
    path = recorded(
        tmp_path,
        Rooted(),
        torch.ones(3, 4),
        exact=False,
        parameters_from_step=17,
        most_bytes=5200,
        checkpoint=checkpoint,
    )
    notes = " ".join(replayed(path, Rooted).notes)
    assert "The parameters are those that build() gave (parameters: 0.0 MiB, over the cap" in notes
    assert "that stands in for them is unchanged" in notes
    assert "not those that step 3 began with (of step 17)" in notes
    checkpoint.write_bytes(b"others!")
    assert "another one by now" in " ".join(replayed(path, Rooted).notes)


def test_the_part_that_was_called_is_called(tmp_path: Path) -> None:
    class Trained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Overflowing()

        def training_step(self, x: Tensor) -> Tensor:
            out: Tensor = self.net(x).mean()
            return out

    model = Trained()
    recall = Recall(model)
    with torch.autocast("cpu", dtype=torch.float16):
        model.training_step(torch.randn(2, 4))
    (call,) = recall.calls(0)
    path = black_box.write(tmp_path, 0, model=model, call=call, culprit=find(model, call))
    result = replayed(path, lambda: (Trained(), mean))
    assert result.forward.first_bad is not None
    assert result.forward.first_bad.name == "net.second"
    assert result.same_place
