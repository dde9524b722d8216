"""The tree is formatted, typed, layered and documented."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tooling

BIN = Path(sys.executable).parent
TOOLS = {
    "formatted": [str(BIN / "ruff"), "format", "--check", "."],
    "linted": [str(BIN / "ruff"), "check", "."],
    "typed": [str(BIN / "mypy")],
    "layered": [str(BIN / "lint-imports")],
    "documented": [sys.executable, "scripts/write_docs.py", "--check"],
}


@pytest.mark.parametrize("quality", TOOLS)
def test_the_tree_is(quality: str, root: Path) -> None:
    done = subprocess.run(TOOLS[quality], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
