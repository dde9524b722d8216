"""What the report's tests share."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from stethoscope import Diagnosis, diagnose


@pytest.fixture(scope="session")
def a_real_diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """A run whose loss becomes NaN, through the whole line."""
    folder: Path = tmp_path_factory.mktemp("run")
    rows = [f"{step},{1 / (step + 1) if step < 80 else math.nan}" for step in range(100)]
    (folder / "train.csv").write_text("step,loss\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "config.yml").write_text("lr: 1e-4\n", encoding="utf-8")
    return diagnose(folder)
