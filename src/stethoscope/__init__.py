"""Stethoscope finds out what really went wrong with a training run.

    >>> from stethoscope import diagnose
    >>> diagnose("runs/nano").verdict
    'sick'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stethoscope.diagnose import Diagnosis, diagnose

__version__ = "0.1.0"
__all__ = ["Diagnosis", "__version__", "diagnose"]


def __getattr__(name: str) -> Any:
    """Import the line only when it is asked for, so that `stethoscope --help` stays fast."""
    if name in {"Diagnosis", "diagnose"}:
        # The module and its function share a name: bind the function, which is the public one.
        module = import_module("stethoscope.diagnose")
        globals().update(Diagnosis=module.Diagnosis, diagnose=module.diagnose)
        return globals()[name]
    raise AttributeError(f"module 'stethoscope' has no attribute {name!r}")
