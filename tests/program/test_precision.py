"""In which precision loops train, and the types of values in half-precision code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.precision.autocast import Autocast, DType
from stethoscope.program.precision.half_sections import HalfSections, half_sections
from stethoscope.program.precision.loop_precision import LoopPrecision, loop_precisions
from stethoscope.program.settings.settings_tree import settings_tree
from tests.program.program_text import program_of

LOOP = """
import contextlib
import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for x, y in loader:
    optimizer.zero_grad()
    with {region}:
        loss = nn.functional.mse_loss(model(x), y)
    {backward}
    {step}
"""

NETWORK = """
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.LayerNorm(8)
        self.table = nn.ModuleDict({{"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)}})
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x, kind):
        h = self.conv(x)
        found = {expression}
        return h


net = Net()
optimizer = torch.optim.AdamW(net.parameters())
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.l1_loss(net(x, y), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def precision_of(
    folder: Path,
    region: str,
    backward: str = "loss.backward()",
    step: str = "optimizer.step()",
    before: str = "",
) -> LoopPrecision:
    """How the loop of a small script trains."""
    text = LOOP.format(region=region, backward=backward, step=step, before=before)
    (only,) = loop_precisions(index(program_of(folder, train=text)), settings_tree(None))
    return only


def region_of(folder: Path, region: str, before: str = "") -> Autocast:
    """The one autocast region of a small script."""
    (only,) = precision_of(folder, region, before=before).regions
    return only.autocast


def sections_of(folder: Path, expression: str) -> HalfSections:
    """The half-precision code of a small network."""
    text = NETWORK.format(expression=expression)
    return half_sections(index(program_of(folder, train=text)), settings_tree(None))


def type_of(folder: Path, expression: str) -> DType:
    """The type of an expression in the forward pass, where `h` is the output of a convolution."""
    sections = sections_of(folder, expression)
    for body in sections.bodies():
        if body.spoken == "Net.forward":
            (made,) = (
                node.value
                for node in body.nodes
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "found"
            )
            noted = sections.of(made)
            assert noted is not None
            (dtype,) = noted.dtypes
            return dtype
    raise AssertionError("the network was not reached")


@pytest.mark.parametrize(
    ("region", "dtype"),
    [
        ("autocast()", DType.FLOAT16),
        ('torch.autocast("cuda")', DType.FLOAT16),
        ('torch.autocast("cpu")', DType.BFLOAT16),
        ('torch.amp.autocast("cuda", torch.bfloat16)', DType.BFLOAT16),
        ('torch.autocast(device_type="cuda", dtype=torch.half)', DType.FLOAT16),
        ("autocast(True, torch.bfloat16)", DType.BFLOAT16),
    ],
)
def test_a_region_knows_its_type(tmp_path: Path, region: str, dtype: DType) -> None:
    assert region_of(tmp_path, region).only(dtype)


def test_a_region_that_is_off_is_none(tmp_path: Path) -> None:
    assert precision_of(tmp_path, "autocast(enabled=False)").regions == ()


def test_a_region_may_be_one_of_two_types(tmp_path: Path) -> None:
    before = "kind = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16"
    found = region_of(tmp_path, 'torch.autocast("cuda", dtype=kind)', before)
    assert found.may_be(DType.FLOAT16)
    assert not found.only(DType.FLOAT16)


def test_a_type_from_settings_that_are_not_known_is_not_guessed(tmp_path: Path) -> None:
    found = region_of(tmp_path, 'torch.autocast("cuda", dtype=getattr(torch, args.dtype))')
    assert not found.known
    assert not found.may_be(DType.FLOAT16)


@pytest.mark.parametrize(
    ("backward", "step", "scaled"),
    [
        ("loss.backward()", "optimizer.step()", False),
        ("scaler.scale(loss).backward()", "scaler.step(optimizer)", True),
        ("(loss * 1024).backward()", "optimizer.step()", True),
        ("accelerator.backward(loss)", "optimizer.step()", True),
    ],
)
def test_a_loss_is_scaled_by_a_scaler_an_engine_or_by_hand(
    tmp_path: Path, backward: str, step: str, scaled: bool
) -> None:
    found = precision_of(tmp_path, "autocast()", backward, step, "scaler = GradScaler()")
    assert found.scaled is scaled


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("h", DType.FLOAT16),
        ("h.var(1, keepdim=True)", DType.FLOAT16),
        ("torch.sqrt(h.mean() + 1e-5)", DType.FLOAT16),
        ("h * h", DType.FLOAT16),
        ("h ** 2", DType.FLOAT32),
        ("h.square()", DType.FLOAT32),
        ("torch.rsqrt(h)", DType.FLOAT32),
        ("1 / h", DType.FLOAT32),
        ("h.exp()", DType.FLOAT32),
        ("h.exp_()", DType.FLOAT16),
        ("torch.exp2(h)", DType.FLOAT16),
        ("h.sum(-1)", DType.FLOAT32),
        ("h.sum(-1, dtype=torch.float16)", DType.FLOAT16),
        ("F.softmax(h, -1)", DType.FLOAT32),
        ("F.softmax(h, -1).to(h.dtype)", DType.FLOAT16),
        ("F.gelu(h)", DType.FLOAT16),
        ("h.float()", DType.FLOAT32),
        ("h.float() @ h.float().mT", DType.FLOAT16),
        ("h + torch.zeros(8)", DType.FLOAT32),
        ("h * self.scale", DType.FLOAT32),
        ("h * 2.0", DType.FLOAT16),
        ("torch.cat([h, h.float()])", DType.FLOAT32),
        ("torch.stack([h, h])", DType.FLOAT16),
        ("self.norm(h)", DType.FLOAT32),
        ("self.table[kind](h)", DType.FLOAT16),
        ('rearrange(h, "b c h w -> b (h w) c")', DType.FLOAT16),
        ("F.interpolate(h, scale_factor=2)", DType.FLOAT32),
        ("torch.fft.rfft2(h)", DType.FLOAT16),
        ("h.type_as(x)", DType.UNKNOWN),
        ("h + x", DType.UNKNOWN),
        ("some_function(h)", DType.UNKNOWN),
    ],
)
def test_types_are_those_that_a_gpu_gives(tmp_path: Path, expression: str, dtype: DType) -> None:
    assert type_of(tmp_path, expression) is dtype


def test_a_program_without_a_word_of_half_precision_is_not_walked(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train="import torch\nmodel = torch.nn.Linear(2, 2)\n"))
    assert not half_sections(known, settings_tree(None))
