"""The command line as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "stethoscope")


def stethoscope(
    *arguments: str | Path, stdin: bytes | None = None, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        cwd=cwd,
        env=surroundings(**environment),
        timeout=120,
        check=False,
    )


def surroundings(**environment: str) -> dict[str, str]:
    """The environment without what changes how a console looks."""
    changing = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "PYTHONIOENCODING", "STETHOSCOPE_DEBUG"}
    kept = {name: value for name, value in os.environ.items() if name not in changing}
    return {**kept, "PYTHONUTF8": "1", **environment}
