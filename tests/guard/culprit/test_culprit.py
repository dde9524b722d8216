"""Who spoiled a step."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.culprit import Verdict, bad_gradients, find, find_among
from stethoscope.guard.culprit.recall import Recall, RememberedCall
from stethoscope.guard.culprit.verdict import Culprit
from tests.guard.small_nets import Net, Overflowing, Rooted


def called(model: nn.Module, *args: object, half: bool = False, **kwargs: object) -> RememberedCall:
    recall = Recall(model)
    with torch.autocast("cpu", dtype=torch.float16, enabled=half):
        model(*args, **kwargs)
    (call,) = recall.calls(0)
    recall.close()
    return call


def looked_at(model: nn.Module, *args: object, half: bool = False, **kwargs: object) -> Culprit:
    return find(model, called(model, *args, half=half, **kwargs))


def test_an_overflow_in_half_precision_only_is_named() -> None:
    culprit = looked_at(Overflowing(), torch.randn(3, 4), half=True)
    assert culprit.verdict is Verdict.HALF_ONLY
    assert "overflows in half precision only: first in second (Linear)" in culprit.text()
    assert "float16 ends at 65504" in culprit.text()
    way = culprit.facts()["way"]
    assert isinstance(way, list)
    assert [row["module"] for row in way] == ["first", "second"]
    assert way[-1]["largest_in_float32"] > 65504


def test_the_samples_behind_a_bad_input_are_named() -> None:
    x = torch.randn(4, 8)
    x[2, 3] = math.nan
    culprit = find(Net(), called(Net(), x), samples=["a", "b", "c", "d"])
    assert culprit.verdict is Verdict.INPUTS
    assert culprit.bad_inputs[0].name == "args[0]"
    assert culprit.bad_inputs[0].rows == (2,)
    assert "args[0] holds NaN (0.0312 of its values), in the samples c" in culprit.text()
    unnamed = find(Net(), called(Net(), x))
    assert "in rows 2" in unnamed.text()


def test_one_sample_that_overflows_is_named_though_every_input_is_finite() -> None:
    x = torch.zeros(4, 4)
    x[1] = 1e3
    model = Overflowing()
    with torch.no_grad():
        model.second.weight.fill_(2000)
        model.first.weight.copy_(torch.eye(4))
    culprit = find(model, called(model, x, half=True), samples=torch.tensor([10, 11, 12, 13]))
    assert culprit.verdict is Verdict.HALF_ONLY
    assert culprit.samples == ("11",)
    assert "Only the samples 11 are hit." in culprit.text()


def test_parameters_that_are_not_finite_are_named() -> None:
    model = Net()
    with torch.no_grad():
        model.blocks[1].fc.weight[0, 0] = math.inf
    culprit = looked_at(model, torch.randn(4, 8))
    assert culprit.verdict is Verdict.PARAMETERS
    assert "blocks.1.fc.weight" in culprit.text()


def test_a_fault_in_float32_too_is_told_from_an_overflow() -> None:
    class Divides(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.out = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            x = self.fc(x)
            out: Tensor = self.out(x / (x - x))
            return out

    for half in (False, True):
        culprit = looked_at(Divides(), torch.randn(2, 4), half=half)
        assert culprit.verdict is Verdict.FLOAT32_TOO
        assert "the code of the model itself before it calls out (Linear)" in culprit.text()


def test_a_model_that_casts_by_itself_is_not_called_faulty_in_float32() -> None:
    class Casts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.act((x * 1e6).half())
            return out

    assert looked_at(Casts(), torch.ones(2, 4)).verdict is Verdict.FORWARD_BAD


def test_a_finite_forward_pass_points_behind_the_model() -> None:
    model = Rooted()
    call = called(model, torch.randn(2, 4))
    assert find(model, call).verdict is Verdict.FORWARD_FINITE
    told = find(model, call, parts={"l1": 0.5, "gan": torch.tensor(math.inf)})
    assert told.bad_parts == ("gan",)
    assert "a part of the loss is not: gan" in told.text()


def test_masks_are_not_faults() -> None:
    class Masks(nn.Module):
        causal: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("causal", torch.full((4, 4), -math.inf).triu(1))
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return torch.softmax(self.fc(x) + self.causal + mask, -1)

    mask = torch.zeros(4, 4)
    mask[:, 3] = -math.inf
    assert looked_at(Masks(), torch.randn(4, 4), mask=mask).verdict is Verdict.FORWARD_FINITE


def test_inputs_that_the_model_mends_are_not_blamed() -> None:
    class Mends(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nan_to_num(x)

    culprit = looked_at(Mends(), torch.tensor([[math.nan, 1.0]]))
    assert culprit.verdict is Verdict.FORWARD_FINITE
    assert "args[0] holds values that are not finite" in culprit.text()


def test_outputs_of_every_shape_are_looked_into() -> None:
    @dataclass
    class Result:
        hidden: Tensor
        parts: dict[str, list[Tensor]]

    class Wraps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Identity()

        def forward(self, x: Tensor) -> Result:
            return Result(x, {"a": [x, self.inner(x) * math.inf]})

    culprit = looked_at(Wraps(), torch.ones(2, 2))
    assert culprit.verdict is Verdict.FLOAT32_TOO
    assert "the code of the model itself (Wraps)" in culprit.text()


def test_model_outputs_of_transformers_are_looked_into() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=32, n_positions=16)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.weight.fill_(math.nan)
    ids = torch.randint(0, 32, (2, 8))
    culprit = looked_at(model.train(), input_ids=ids, labels=ids)
    assert culprit.verdict is Verdict.PARAMETERS
    first = culprit.facts()["first_bad"]
    assert isinstance(first, Mapping)
    assert first["module"] == "transformer.h.1.mlp.c_fc"


def test_training_is_bit_identical_with_and_without_a_look() -> None:
    def trained(looking: bool) -> tuple[list[Tensor], list[int], float]:
        torch.manual_seed(0)
        random.seed(0)
        net = Net()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        recall = Recall(net)
        for step in range(6):
            recall.step = step
            x = torch.randn(8, 8)
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16, enabled=step % 2 == 0):
                loss = net(x)["prediction"].float().square().mean()
            loss.backward()
            if looking:
                find(net, recall.calls(step)[0])
            optimizer.step()
        tensors = [*net.state_dict().values(), *(p.grad for p in net.parameters() if p.grad is not None)]
        assert not any(module._forward_hooks for module in net.modules())
        return [tensor.clone() for tensor in tensors], [net.calls, *net.seen], random.random()

    bare, bare_calls, bare_draw = trained(False)
    looked, looked_calls, looked_draw = trained(True)
    assert all(torch.equal(one, other) for one, other in zip(bare, looked, strict=True))
    assert bare_calls == looked_calls
    assert bare_draw == looked_draw


def test_a_look_leaves_versions_of_buffers_and_modes_alone() -> None:
    net = Net()
    net.blocks[0].eval()
    call = called(net, torch.randn(4, 8))
    versions = [buffer._version for buffer in net.buffers()]
    find(net, call)
    assert [buffer._version for buffer in net.buffers()] == versions
    assert not net.blocks[0].training
    assert net.blocks[1].training


def test_the_same_random_numbers_are_drawn_again() -> None:
    net = Net()
    call = called(net, torch.randn(4, 8))
    first = find(net, call)
    torch.manual_seed(123)
    second = find(net, call)
    assert first.as_it_was is not None
    assert second.as_it_was is not None
    assert first.as_it_was.digest == second.as_it_was.digest != ""


def test_what_cannot_be_repeated_is_said_and_never_raised() -> None:
    class Once(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.box = [1]
            self.opened = iter([1])

        def forward(self, x: Tensor) -> Tensor:
            next(self.opened)
            out: Tensor = self.fc(x)
            return out

    culprit = looked_at(Once(), torch.ones(1, 2))
    assert culprit.verdict is Verdict.NOT_REPEATED
    assert "could not be repeated as it was: StopIteration" in culprit.text()
    x = torch.ones(1, 2)
    model = nn.Linear(2, 1)
    call = called(model, x)
    x.fill_(math.nan)
    changed = find(model, call)
    assert changed.verdict is Verdict.NOT_REPEATED
    assert "written to since" in changed.text()


def test_a_model_on_the_meta_device_is_not_called() -> None:
    model = nn.Linear(2, 1)
    call = called(model, torch.ones(1, 2))
    assert "meta device" in find(model.to("meta"), call).text()


def test_parameters_in_half_are_widened() -> None:
    model = Overflowing().half()
    culprit = looked_at(model, torch.randn(2, 4).half())
    assert culprit.verdict is Verdict.HALF_ONLY
    assert model.second.weight.dtype is torch.float16


def test_the_first_bad_call_of_a_step_is_found() -> None:
    model = Overflowing()
    recall = Recall(model)
    good, bad = torch.zeros(2, 4), torch.randn(2, 4)
    with torch.no_grad():
        model.second.weight.fill_(10)
    model(good)
    model(torch.full((2, 4), math.inf))
    model(bad)
    call, culprit = find_among(model, recall.calls(0))
    assert call is not None
    assert culprit.verdict is Verdict.INPUTS
    with pytest.raises(ValueError, match="no call"):
        find_among(model, ())


def test_exotic_inputs_are_survived() -> None:
    class Takes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Tensor, **others: object) -> Tensor:
            out: Tensor = self.fc(x)
            return out

    others = {
        "fp8": torch.ones(2).to(torch.float8_e4m3fn),
        "complex": torch.ones(2, dtype=torch.complex64),
        "whole": torch.ones(2, dtype=torch.int64),
        "flags": torch.ones(2, dtype=torch.bool),
        "sparse": torch.eye(2).to_sparse(),
        "empty": torch.empty(0, 3),
        "meta": torch.empty(2, device="meta"),
    }
    assert looked_at(Takes(), torch.ones(1, 2), **others).verdict is Verdict.FORWARD_FINITE
    others["complex"] = torch.tensor([complex(0, math.nan)])
    others["fp8"] = torch.tensor([math.nan]).to(torch.float8_e4m3fn)
    culprit = looked_at(Takes(), torch.ones(1, 2), **others)
    assert {bad.name for bad in culprit.bad_inputs} == {"complex", "fp8"}


def test_a_compiled_model_is_looked_at_uncompiled() -> None:
    net = Overflowing()
    compiled = torch.compile(net, backend="eager")
    assert isinstance(compiled, nn.Module)
    recall = Recall(compiled)
    with torch.autocast("cpu", dtype=torch.float16):
        compiled(torch.randn(2, 4))
    culprit = find(compiled, recall.calls(0)[0])
    assert culprit.first_bad is not None
    assert culprit.first_bad.name == "second"


def test_the_worst_gradients_come_first() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    named = dict(model.named_parameters())
    assert bad_gradients(model.named_parameters())[0].norm == 2.0
    grad = named["1.weight"].grad
    assert grad is not None
    grad[0, 0] = math.nan
    bias = named["0.bias"].grad
    assert bias is not None
    bias.fill_(math.inf)
    named["2.bias"].grad = None
    worst = bad_gradients(model.named_parameters(), most=3)
    assert [(one.name, one.shown, one.bad_share) for one in worst] == [
        ("0.bias", "inf", 1.0),
        ("1.weight", "nan", 0.25),
        ("2.weight", "2", 0.0),
    ]


def test_sparse_and_empty_gradients_are_measured() -> None:
    table = nn.Embedding(10, 2, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    empty = nn.Parameter(torch.empty(0))
    empty.grad = torch.empty(0)
    sizes = bad_gradients([("table", table.weight), ("empty", empty)])
    assert [one.name for one in sizes] == ["table", "empty"]
    assert sizes[0].norm == 2.0
