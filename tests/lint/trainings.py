"""Small trainings to lint."""

from __future__ import annotations

from pathlib import Path

SICK = """\
import torch
from pytorch_msssim import ssim


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        output = model(x)
        loss = ssim(output, y)
        loss.backward()
        optimizer.step()
"""
HEALTHY = SICK.replace("ssim(output, y)", "1 - ssim(output, y)")
SICK_LINE = 9
TEXT_NUMBER = "lr: 1e-4\n"


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    """The folder with these files in it."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
