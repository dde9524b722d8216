"""The API as the README shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_example_in_the_readme_runs(root: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text("utf-8"), re.M | re.S)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(("sick\n", "unknown\n", "healthy\n", "at-risk\n"))
    assert done.stderr == ""


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
