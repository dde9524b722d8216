"""The API as the README shows it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import stethoscope.diagnose",
        "from stethoscope.diagnose import Diagnosis",
        "import stethoscope.report",
    ],
)
def test_diagnose_is_the_function_whatever_was_imported_before(before: str) -> None:
    after = "from stethoscope import Diagnosis, diagnose\nprint(callable(diagnose), Diagnosis.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{after}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True Diagnosis\n"
