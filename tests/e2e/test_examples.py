"""The recorded examples: the sick ones are called sick or at risk, their cured twins are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import diagnose

EXAMPLES = Path(__file__).parents[2] / "examples"
CURED = sorted(EXAMPLES.glob("*-cured"))
SICK = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir() and folder not in CURED)


def _named(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("folder", CURED, ids=_named)
def test_a_cured_run_is_left_alone(folder: Path) -> None:
    diagnosis = diagnose(folder, code=folder / "code")
    assert diagnosis.verdict is Verdict.HEALTHY
    assert not diagnosis.prescription.edits


@pytest.mark.parametrize("folder", SICK, ids=_named)
def test_a_sick_run_is_told(folder: Path) -> None:
    code = folder / "code"
    assert diagnose(folder, code=code if code.exists() else None).verdict in {Verdict.SICK, Verdict.AT_RISK}
