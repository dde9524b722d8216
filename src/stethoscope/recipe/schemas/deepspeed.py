"""DeepSpeed: one JSON; its sections are models that refuse unknown keys, its top level drops them."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import table
from stethoscope.run import Key

FRAMEWORK = "DeepSpeed"
PACKAGES: tuple[str, ...] = ()

_FILE = "config file"
# No other framework has a name of either group beside one of the other.
_BATCH = frozenset({"train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps"})
_SECTIONS = frozenset(
    {"zero_optimization", "zero_allow_untested_optimizer", "wall_clock_breakdown", "steps_per_print"}
)


def held(parted: Sections) -> Iterator[Held]:
    """The file, or a section of another file that holds such a one."""
    for path in ((), *parted.below()):
        names = parted.names(*path)
        if names & _SECTIONS and names & _BATCH and len(names & (_SECTIONS | _BATCH)) > 1:
            yield from _inside(path, parted)


def _inside(path: Key, parted: Sections) -> Iterator[Held]:
    known = table("deepspeed")
    yield Held(path, known.records[_FILE], mixed=True)
    for title, record in known.records.items():
        section = title.removeprefix(f"{_FILE}: ")
        if section != title:
            yield Held((*path, *section.split(".")), record, mixed=not record.refuses)
    for section in ("scheduler", "optimizer"):
        typed = known.records.get(f"{section} {parted.value(*path, section, 'type')}")
        if typed is not None:
            yield Held((*path, section, "params"), typed, mixed=section == "optimizer")
