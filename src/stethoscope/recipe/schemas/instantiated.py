"""Classes that settings name: Hydra's `_target_`, and the `class_path` of the Lightning CLI."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import called

FRAMEWORK = "the class that the settings name"
PACKAGES: tuple[str, ...] = ()


def held(parted: Sections) -> Iterator[Held]:
    """Every section that says which class it is for, where that is a class known here."""
    for path in parted:
        target, class_path = parted.value(*path, "_target_"), parted.value(*path, "class_path")
        record = called(str(target)) if target else None
        if record is not None:
            yield Held(path, record)
        record = called(str(class_path)) if class_path else None
        if record is not None:
            yield Held((*path, "init_args"), record)
