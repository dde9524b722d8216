"""What denoisers are trained to return, and what samplers take their output for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.objective.denoising import Denoising, denoising
from stethoscope.program.objective.sampling import Meaning, readings
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 2)

    def forward(self, x, t):
        return self.body(torch.cat([x, t], 1))


model = Net()
for clean in loader:
    level = torch.rand(len(clean), 1)
    noise = torch.randn_like(clean)
    noisy = (1 - level) * clean + level * noise
    loss = {loss}
    loss.backward()


def sample(model, x, t):
    {read} = model(x, t)
    return x
"""


def denoising_of(folder: Path, loss: str, read: str) -> Denoising:
    text = PROGRAM.format(loss=loss, read=read)
    return denoising(index(program_of(folder, train=text)), SettingsTree())


@pytest.mark.parametrize(
    ("loss", "read", "misread"),
    [
        ("F.mse_loss(model(noisy, level), clean)", "eps", [(Meaning.CLEAN, Meaning.NOISE)]),
        ("((model(noisy, level) - clean) ** 2).mean()", "pred_noise", [(Meaning.CLEAN, Meaning.NOISE)]),
        ("F.l1_loss(noise, model(noisy, level))", "x0_hat", [(Meaning.NOISE, Meaning.CLEAN)]),
        ("F.mse_loss(model(noisy, level), noise)", "velocity", [(Meaning.NOISE, Meaning.VELOCITY)]),
        ("F.mse_loss(model(noisy, level), noise)", "eps", []),
        ("F.mse_loss(model(noisy, level), clean)", "x_start", []),
        ("F.mse_loss(model(noisy, level), noise - clean)", "eps", []),
        ("F.mse_loss(noisy - level * model(noisy, level), clean)", "eps", []),
        ("F.mse_loss(model(noisy, level), clean)", "out", []),
        ("F.mse_loss(model(noisy, level), noise if flag else clean)", "eps", []),
        ("F.mse_loss(level * model(noisy, level), clean)", "out", [(Meaning.CLEAN, Meaning.NOISE)]),
    ],
)
def test_objective_and_sampler_are_compared(
    tmp_path: Path, loss: str, read: str, misread: list[tuple[Meaning, Meaning]]
) -> None:
    seen = denoising_of(tmp_path, loss, read)
    assert seen.passes == 1
    assert [(one.trained, one.read) for one in seen.misread] == misread


def test_samplers_that_disagree_say_nothing(tmp_path: Path) -> None:
    text = PROGRAM.format(loss="F.mse_loss(model(noisy, level), clean)", read="eps")
    text += "\n\ndef sample_fast(model, x, t):\n    x0 = model(x, t)\n    return x0\n"
    seen = denoising(index(program_of(tmp_path, train=text)), SettingsTree())
    assert seen.misread == ()


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("def sample(net, x, t):\n    eps = net(x, t)\n", [Meaning.NOISE]),
        ("def generate(self, x, t):\n    a_eps, b_eps = self.unet(x, t).chunk(2)\n", [Meaning.NOISE]),
        ("def p_sample(model, x, t):\n    x_0 = model(x, t).sample\n", [Meaning.CLEAN]),
        ("def sample(net, x, t):\n    eps = torch.randn(2, 3)\n", []),
        ("def sample(net, x):\n    eps = net(x)\n", []),
        ("def train(net, x, t):\n    eps = net(x, t)\n", []),
        ("def sample(net, x, t):\n    noise_x0 = net(x, t)\n", []),
        ("from diffusers import DDIMScheduler\ns = DDIMScheduler()\n", [Meaning.NOISE]),
        ("from diffusers import DDIMScheduler\ns = DDIMScheduler(prediction_type=kind)\n", []),
        ("from diffusers import DDIMScheduler\ns = DDIMScheduler(**options)\n", []),
        ("def sample(): eps = ()()()\n", []),
    ],
)
def test_readings_go_by_the_name_of_the_output(tmp_path: Path, text: str, meanings: list[Meaning]) -> None:
    assert [reading.meaning for reading in readings(index(program_of(tmp_path, a=text)))] == meanings
