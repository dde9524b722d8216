"""What is remembered of the model's calls."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stethoscope.guard.culprit.recall import MOST_CALLS, Autocast, Recall, unwrapped
from tests.guard.small_nets import Net


def test_a_call_in_training_is_remembered_by_reference() -> None:
    net = Net()
    recall = Recall(net)
    x = torch.randn(4, 8)
    recall.step, recall.batch = 7, {"x": x, "y": torch.zeros(4)}
    net(x, scale=2.0)
    (call,) = recall.calls(7)
    assert call.args[0] is x
    assert call.kwargs == {"scale": 2.0}
    assert call.batch["x"] is x
    assert call.autocast == ()
    assert call.held_bytes == 2 * x.nbytes + 16
    assert not call.changed
    assert recall.calls(6) == ()


def test_evaluation_is_not_remembered() -> None:
    net = Net()
    recall = Recall(net)
    with torch.no_grad():
        net(torch.randn(4, 8))
    net.eval()
    net(torch.randn(4, 8))
    assert recall.calls(0) == ()


def test_an_argument_written_to_afterwards_marks_the_call_as_changed() -> None:
    net = Net()
    recall = Recall(net)
    x = torch.randn(4, 8)
    net(x)
    (call,) = recall.calls(0)
    x.mul_(2)
    assert call.changed


def test_the_loops_own_containers_may_be_emptied() -> None:
    class Takes(nn.Module):
        def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return batch["x"]

    model = Takes()
    recall = Recall(model)
    batch = {"x": torch.ones(2)}
    model(batch)
    batch.pop("x")
    assert recall.calls(0)[0].args[0]["x"].tolist() == [1, 1]


def test_autocast_and_random_numbers_are_remembered() -> None:
    net = Net()
    recall = Recall(net)
    before = torch.get_rng_state()
    with torch.autocast("cpu", dtype=torch.float16):
        net(torch.ones(4, 8))
    (call,) = recall.calls(0)
    assert call.autocast == (Autocast("cpu", torch.float16),)
    assert torch.equal(call.randomness.cpu, before)


def test_calls_beyond_the_bytes_or_the_number_are_forgotten() -> None:
    net = nn.Linear(8, 1)
    recall = Recall(net, most_bytes=3 * 4 * 8 * 4)
    for step in range(5):
        recall.step = step
        net(torch.randn(4, 8))
    assert [step for step in range(5) if recall.calls(step)] == [2, 3, 4]
    recall.most_bytes = 1
    net(torch.randn(4, 8))
    assert not recall.calls(4)
    recall.most_bytes = 1 << 30
    for _ in range(MOST_CALLS + 5):
        net(torch.randn(1, 8))
    assert len(recall.calls(4)) == MOST_CALLS


def test_the_graph_behind_an_argument_is_not_kept_alive() -> None:
    net = nn.Linear(8, 1)
    recall = Recall(net)
    hidden = nn.Linear(8, 8)(torch.randn(2, 8))
    net(hidden)
    (call,) = recall.calls(0)
    assert call.args[0].grad_fn is None
    assert call.args[0].requires_grad
    assert call.args[0].data_ptr() == hidden.data_ptr()
    with torch.no_grad():
        hidden.zero_()
    assert call.changed


def test_the_parts_of_a_module_with_a_training_step_are_listened_to() -> None:
    class Trained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = nn.Linear(2, 2)
            self.critics = nn.ModuleList([nn.Linear(2, 1)])
            self.loss = nn.MSELoss()

        def training_step(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.critics[0](self.generator(x)).mean()
            return out

    model = Trained()
    recall = Recall(model)
    model.training_step(torch.randn(3, 2))
    assert [call.module for call in recall.calls(0)] == ["generator", "critics.0"]


def test_strange_arguments_are_kept_as_they_are() -> None:
    class Takes(nn.Module):
        def forward(self, *args: object, **kwargs: object) -> None:
            pass

    model = Takes()
    recall = Recall(model)
    strange = object()
    with torch.inference_mode():
        frozen = torch.ones(2)
    sparse = torch.eye(2).to_sparse()
    model(strange, frozen, sparse, torch.empty(2, device="meta"), many=list(range(1000)), none=None)
    (call,) = recall.calls(0)
    assert call.args[0] is strange
    assert call.args[1] is frozen
    assert recall.trouble == ""


def test_trouble_ends_the_remembering_and_not_the_call() -> None:
    net = nn.Linear(2, 1)
    recall = Recall(net)
    recall.most_bytes = None
    assert net(torch.ones(1, 2)).shape == (1, 1)
    assert "TypeError" in recall.trouble
    net(torch.ones(1, 2))
    assert recall.calls(0) == ()


def test_closing_leaves_no_hook_behind() -> None:
    net = Net()
    recall = Recall(net)
    recall.close()
    net(torch.randn(2, 8))
    assert recall.calls(0) == ()
    assert not net._forward_pre_hooks


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_is_not_compiled_again() -> None:
    counted: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        counted.append(1)
        return graph.forward

    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    assert isinstance(compiled, nn.Module)
    recall = Recall(compiled)
    inner = Recall(net)  # its hook is inside of what is compiled, and traced to nothing
    for step in range(4):
        recall.step = step
        compiled(torch.randn(4, 8)).sum().backward()
    assert len(counted) == 1
    assert all(len(recall.calls(step)) == 1 for step in range(4))
    assert inner.calls(0) == ()
    assert unwrapped(compiled) is net
