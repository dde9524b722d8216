"""Runs the example on a block's page as a reader would paste it."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stdout
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent


def example(block: str) -> str:
    """The source below the heading "Example" of a block's docstring."""
    page = cleandoc(import_module(f"stethoscope.blocks.{block}").__doc__ or "")
    return dedent(page.split("## Example\n", 1)[1].split("\n## ", 1)[0])


def run_example(block: str, folder: Path = Path()) -> str:
    """Run a block's example with a folder as the current one; what it printed."""
    printed = io.StringIO()
    with chdir(folder), redirect_stdout(printed):
        exec(example(block), {"__name__": "__main__"})
    return printed.getvalue()
