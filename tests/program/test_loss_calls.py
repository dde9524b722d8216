"""Losses are met wherever training computes them, with what was done to their prediction last."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.objective.loss_calls import LossCall, by_activation, loss_calls
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
LOOP = """
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    {loss}.backward()
    opt.step()
"""


def calls_of(folder: Path, text: str) -> tuple[LossCall, ...]:
    return loss_calls(index(program_of(folder, train=HEAD + text)), SettingsTree())


@pytest.mark.parametrize(
    ("prediction", "activation"),
    [
        ("torch.softmax(net(x), 1)", "softmax"),
        ("net(x).softmax(-1).flatten(1)", "softmax"),
        ("nn.LogSoftmax(1)(net(x))", "log_softmax"),
        ("net(x).view(-1, 3)", ""),
        ("torch.sigmoid(net(x)) * 2", ""),
        ("unknown(net(x))", None),
        ("nn.Sequential(net, nn.Softmax(1))(x)", "softmax"),
    ],
)
def test_the_last_activation_is_told(tmp_path: Path, prediction: str, activation: str | None) -> None:
    text = "net = nn.Linear(4, 3)" + LOOP.format(loss=f"F.cross_entropy({prediction}, y)")
    (call,) = calls_of(tmp_path, text)
    assert (call.loss, call.activation) == ("cross_entropy", activation)


def test_a_loss_behind_functions_that_were_not_followed_is_met(tmp_path: Path) -> None:
    text = """
class Module:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.criterion = nn.BCEWithLogitsLoss()

    def _loss(self, logits, y):
        return self._plain(logits, y) + 0.1 * logits.pow(2).mean()

    def _plain(self, logits, y):
        return self.criterion(logits, y)

    def training_step(self, batch):
        x, y = batch
        return self._loss(torch.sigmoid(self.net(x)), y)


module = Module()
for batch in loader:
    module.training_step(batch).backward()
"""
    (call,) = calls_of(tmp_path, text)
    assert (call.loss, call.activation) == ("BCEWithLogitsLoss", "sigmoid")


def test_losses_of_one_activation_stand_together(tmp_path: Path) -> None:
    text = """
judge = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
bce = nn.BCEWithLogitsLoss()
for real, fake in loader:
    loss = bce(judge(real), torch.ones(8, 1)) + bce(judge(fake), torch.zeros(8, 1))
    loss.backward()
"""
    ((activation, together),) = by_activation(calls_of(tmp_path, text))
    assert activation.text == "nn.Sigmoid()"
    assert len(together) == 2


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    F.cross_entropy().backward()\n",
        "def f(x):\n    F.cross_entropy(*x, **x).backward()\n",
        "def f(x):\n    return F.cross_entropy(f(x), x)\nf(1).backward()\n",
        "net = nn.Sequential()\nF.cross_entropy(net(net), 1).backward()\n",
    ],
)
def test_hostile_calls_are_survived(tmp_path: Path, text: str) -> None:
    assert all(call.activation in {"", None} for call in calls_of(tmp_path, text))
