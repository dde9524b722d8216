"""The Lightning CLI: a `trainer` section that is handed to the Trainer as it is."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections, share
from stethoscope.recipe.schemas._table import table

FRAMEWORK = "Lightning"
PACKAGES = ("lightning", "pytorch_lightning")

FEWEST = 3  # names of the Trainer that a section must have
SHARE = 0.6  # of a section's names that the Trainer must know


def held(parted: Sections) -> Iterator[Held]:
    """The `trainer` section of a file that only the CLI writes or reads."""
    record = table("lightning").records["pytorch_lightning.Trainer"]
    for path in ((), ("fit",)):
        names = parted.names(*path, "trainer")
        known = names & set(record.names)
        if _is_of_the_cli(parted, *path) and len(known) >= FEWEST and share(names, known) >= SHARE:
            yield Held((*path, "trainer"), record)


def _is_of_the_cli(parted: Sections, *path: str) -> bool:
    classes = [parted.value(*path, section, "class_path") for section in ("model", "data")]
    return "seed_everything" in parted.names(*path) or any(isinstance(one, str) for one in classes)
