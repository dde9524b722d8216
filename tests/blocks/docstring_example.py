"""Runs the example on a block's page as a reader would paste it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent


def example(block: str) -> str:
    """The source below the heading "Example" of a block's docstring."""
    page = cleandoc(import_module(f"stethoscope.blocks.{block}").__doc__ or "")
    return dedent(page.split("## Example\n", 1)[1].split("\n## ", 1)[0])


def run_example(block: str, folder: Path | None = None) -> str:
    """Run a block's example in a process of its own; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example(block)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
