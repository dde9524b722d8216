"""What the clinic's trainings may ask of the processor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from stethoscope.clinic.instructions import LIMIT, NAME, instructions

PRODUCT = """
import torch
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(torch.nn.Linear(64, 64)(torch.ones(32, 64)).shape)
"""


def test_bfloat16_is_multiplied_on_every_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRODUCT],
        env=os.environ | {NAME: LIMIT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "torch.Size([32, 64])\n"


def test_a_limit_of_ones_own_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "AVX2")
    assert instructions() == {NAME: "AVX2"}
    monkeypatch.delenv(NAME)
    assert instructions() == {NAME: LIMIT}
