"""Copies of the clinic's projects, for tests to run and to import from."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def replaced(file: Path, *replacements: tuple[str, str]) -> None:
    """Replace texts that occur once each in `file`."""
    text = file.read_text(encoding="utf-8")
    for old, new in replacements:
        assert text.count(old) == 1, (file.name, old)
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def run(command: list[str], project: Path) -> str:
    """Run a command inside a project and return what it printed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def imported(project: Path, *names: str) -> Iterator[tuple[ModuleType, ...]]:
    """Import modules of a copied project by the names that the project itself uses."""
    own = {file.stem for file in project.iterdir()}
    sys.path.insert(0, str(project))
    importlib.invalidate_caches()
    try:
        yield tuple(importlib.import_module(name) for name in names)
    finally:
        sys.path.remove(str(project))
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]
