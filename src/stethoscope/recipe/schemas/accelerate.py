"""Accelerate: the file that `accelerate config` writes; `accelerate launch` refuses unknown keys."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import table

FRAMEWORK = "Accelerate"
PACKAGES: tuple[str, ...] = ()

_FILE = "config file"
_TELLING = frozenset({"compute_environment", "distributed_type"})
_OTHERS = frozenset({"num_processes", "mixed_precision", "machine_rank", "num_machines", "use_cpu"})


def held(parted: Sections) -> Iterator[Held]:
    """The whole file, and the sections of the plugins."""
    names = parted.names()
    if not (names >= _TELLING and len(names & _OTHERS) > 1):
        return
    known = table("accelerate")
    yield Held((), known.records[_FILE])
    for title, record in known.records.items():
        section = title.removeprefix(f"{_FILE}: ")
        if section != title:
            yield Held((section,), record, mixed=True)
