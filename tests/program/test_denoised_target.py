"""The fix of a denoised output that is held to something with noise in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.findings import apply, rule_named
from stethoscope.prescription.edits.diff import spliced
from stethoscope.read import read
from stethoscope.signals import Missing, measure

NETWORK = """\
import torch
from torch import nn
import torch.nn.functional as F


class Precond(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, sigma):
        return x - sigma * self.net(x / (sigma**2 + 1).sqrt())


def loss_of(model, clean):
{body}

model = Precond(nn.Conv2d(1, 1, 3, padding=1))
optimizer = torch.optim.Adam(model.parameters())
for clean in loader:
    optimizer.zero_grad()
    loss_of(model, clean).backward()
    optimizer.step()
"""
BY_NAME = """\
    sigma = torch.rand(len(clean), 1, 1, 1)
    noise = torch.randn_like(clean)
    noisy = clean + sigma * noise
    target = (noise - sigma * clean) / (sigma**2 + 1).sqrt()
    return F.mse_loss(model(noisy, sigma), target)
"""
IN_PLACE = """\
    sigma = torch.rand(len(clean), 1, 1, 1)
    noise = torch.randn_like(clean)
    denoised = model(noise * sigma + clean, sigma)
    return ((denoised - noise) ** 2).mean()
"""
OTHERWISE_NOISY = """\
    sigma = torch.rand(len(clean), 1, 1, 1)
    noise = torch.randn_like(clean)
    noisy = (1 - sigma) * clean + sigma * noise
    return F.mse_loss(model(noisy, sigma), noise)
"""


def _mended(folder: Path, body: str) -> str | None:
    file = folder / "train.py"
    file.write_text(NETWORK.format(body=body))
    found = apply(rule_named("target-of-another-parameterisation"), measure(read(folder)))
    assert not isinstance(found, Missing)
    (finding,) = found
    return spliced(file.read_text(), finding.fix.splices) if finding.fix else None


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (BY_NAME, "return F.mse_loss(model(noisy, sigma) / sigma, clean / sigma)"),
        (IN_PLACE, "return ((denoised / sigma - clean / sigma) ** 2).mean()"),
    ],
)
def test_the_output_is_held_to_the_data(tmp_path: Path, body: str, line: str) -> None:
    mended = _mended(tmp_path, body)
    assert mended is not None
    assert line in mended
    (tmp_path / "train.py").write_text(mended)
    assert apply(rule_named("target-of-another-parameterisation"), measure(read(tmp_path))) == ()


def test_another_corruption_is_left_to_its_author(tmp_path: Path) -> None:
    assert _mended(tmp_path, OTHERWISE_NOISY) is None
