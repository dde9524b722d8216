"""BasicSR: YAML read as it comes; a key that no code asks for is dropped without a word."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import called, table
from stethoscope.run import Key

FRAMEWORK = "BasicSR"
PACKAGES = ("basicsr",)

_REQUIRED = frozenset({"name", "model_type", "datasets", "train", "path"})
_NETWORKS = ("network_g", "network_d")


def held(parted: Sections) -> Iterator[Held]:
    """The whole file: forks add keys of their own, so that only misspellings are faults."""
    if not parted.names() >= _REQUIRED or "network_g" not in parted.names() or "logger" not in parted.names():
        return
    known = table("basicsr")
    plain = (("path",), ("train",), ("val",), ("logger",), *parted.below("datasets"))
    for path in ((), *plain):
        yield Held(path, known.records["config file"], mixed=True)
    for path in ((name,) for name in _NETWORKS):
        yield from _typed(parted, path)
    for path in parted.below("train"):
        yield from _typed(parted, path)
        optimizer = called(f"torch.optim.{parted.value(*path, 'type')}")
        if optimizer is not None and str(path[-1]).startswith("optim"):
            yield Held(path, optimizer, frozenset({"type"}), mixed=True)


def _typed(parted: Sections, path: Key) -> Iterator[Held]:
    """A section that is handed to the class it names."""
    record = table("basicsr").records.get(f"type {parted.value(*path, 'type')}")
    if record is not None:
        yield Held(path, record, frozenset({"type"}), mixed=True)
