"""What a case needs to be trained, which installing Stethoscope alone does not bring."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from stethoscope.clinic.case import Case
from stethoscope.errors import MissingExtra, StethoscopeError


def must_have_needs(case: Case) -> None:
    """Raise where something is missing, with the line that installs it."""
    missing = [name for name in case.needs if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"{case.name} needs {', '.join(missing)}: pip install 'stethoscope[clinic]'")
    if shutil.which("bash") is None:
        raise StethoscopeError(f"{case.name} is started by bash, which is not in PATH.")
