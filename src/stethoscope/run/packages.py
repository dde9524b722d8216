"""The packages a run was made with, as far as something recorded their versions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.run.where import Where


@dataclass(frozen=True, slots=True)
class Package:
    """A package by its normal name, in lower case with dashes, its version, and where that is recorded."""

    name: str
    version: str
    where: Where


def normal_name(name: str) -> str:
    """One spelling for a package: pytorch_lightning and pytorch-lightning are the same."""
    return re.sub(r"[-_.]+", "-", name).lower()
