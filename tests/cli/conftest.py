"""Small runs to point the command line at."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loss that falls smoothly and levels off."""
    folder = tmp_path_factory.mktemp("runs") / "well"
    folder.mkdir()
    rows = [f"{step},{0.1 + 2 / (1 + step / 10):.6f}" for step in range(200)]
    (folder / "train.csv").write_text("step,loss\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return yesterday(folder)


@pytest.fixture(scope="session")
def broken_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loss that is NaN from step 80 on."""
    folder = tmp_path_factory.mktemp("runs") / "broken"
    folder.mkdir()
    rows = [f"{step},{1 / (step + 1) if step < 80 else 'nan'}" for step in range(100)]
    (folder / "train.csv").write_text("step,loss\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return yesterday(folder)


def yesterday(folder: Path) -> Path:
    """The folder, its log so old that the run is surely over."""
    then = time.time() - 86400
    os.utime(folder / "train.csv", (then, then))
    return folder
