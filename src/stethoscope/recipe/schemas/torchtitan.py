"""torchtitan: TOML sections read into dataclasses, which refuse unknown keys."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import table

FRAMEWORK = "torchtitan"
PACKAGES = ("torchtitan",)

_FILE = "config file"
FEWEST = 4  # sections of torchtitan that a file must have
_SECTIONS = frozenset(
    {
        *("job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "training", "parallelism"),
        *("checkpoint", "activation_checkpoint", "comm", "float8", "experimental"),
    }
)
_EXTENDED_BY = (("job", "custom_config_module"), ("experimental", "custom_args_module"))


def held(parted: Sections) -> Iterator[Held]:
    """All sections; it is mostly used from a checkout between releases, so only misspellings are faults."""
    named = len(parted.names() & _SECTIONS) >= FEWEST and "seq_len" in parted.names("training")
    if not (named and "flavor" in parted.names("model")) or any(parted.value(*key) for key in _EXTENDED_BY):
        return
    for title, record in table("torchtitan").records.items():
        section = title.removeprefix(_FILE).removeprefix(": ")
        yield Held(tuple(section.split(".")) if section else (), record, mixed=True)
