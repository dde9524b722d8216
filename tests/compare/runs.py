"""Small runs to compare, written as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

STEPS = np.arange(0, 2000, 10)


def losses(seed: int, noise: float = 0.05) -> np.ndarray:
    """A loss that falls and levels off, with a seed's own noise."""
    rng = np.random.default_rng(seed)
    return (0.3 + 3 / (1 + STEPS / 60)) * np.exp(noise * rng.normal(size=len(STEPS)))


def write(
    folder: Path,
    loss: np.ndarray,
    settings: str = "lr: 0.001\n",
    code: str = "",
    lr: float = 0.001,
    every: int = 1,
) -> Path:
    """A run with a log, settings and, where given, source."""
    folder.mkdir(parents=True)
    rows = [
        f"{step},{value!r},{lr}" for step, value in zip(STEPS[::every], loss[::every].tolist(), strict=True)
    ]
    (folder / "train.csv").write_text("step,loss,lr\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "config.yaml").write_text(settings, encoding="utf-8")
    if code:
        (folder / "code").mkdir()
        (folder / "code" / "train.py").write_text(code, encoding="utf-8")
    return folder
