"""MMEngine: loops, wrappers, schedulers and hooks, each built from a section that names its type."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import Record, called
from stethoscope.run import Key

FRAMEWORK = "MMEngine"
PACKAGES = ("mmengine", "mmcv", "mmdet", "mmseg", "mmpretrain", "mmpose", "mmagic", "mmaction", "mmdet3d")

FEWEST = 3  # sections that no other framework has, of which a file must have so many
_SECTIONS = frozenset(
    {
        *(
            "train_cfg",
            "val_cfg",
            "test_cfg",
            "optim_wrapper",
            "param_scheduler",
            "default_hooks",
            "custom_hooks",
        ),
        *("train_dataloader", "val_dataloader", "val_evaluator", "env_cfg", "default_scope", "log_processor"),
    }
)
# What the registries and the runner take out of a section before they build from it.
_OWN = frozenset({"type", "by_epoch", "constructor", "paramwise_cfg", "priority", "convert_to_iter_based"})


def held(parted: Sections) -> Iterator[Held]:
    """Each section whose type is one of MMEngine's own, or an optimizer of torch."""
    if len(parted.names() & _SECTIONS) < FEWEST or not parted.names() & {"train_cfg", "optim_wrapper"}:
        return
    loops = ("train_cfg", "val_cfg", "test_cfg")
    places: list[tuple[Key, str]] = [
        *(((section,), "mmengine.runner") for section in loops),
        (("optim_wrapper", "optimizer"), "torch.optim"),
        (("param_scheduler",), "mmengine.optim"),
        *((path, "mmengine.optim") for path in parted.below("param_scheduler")),
        *((path, "mmengine.hooks") for path in parted.below("default_hooks")),
        *((path, "mmengine.hooks") for path in parted.below("custom_hooks")),
    ]
    if "constructor" not in parted.names("optim_wrapper"):  # a constructor takes a section for each optimizer
        places.append((("optim_wrapper",), "mmengine.optim"))
    for path, home in places:
        record = _record(parted, path, home)
        if record is not None:
            yield Held(path, record, _OWN)


def _record(parted: Sections, path: Key, home: str) -> Record | None:
    """What a section is built into; without a type it is a part of another file's, or somebody else's."""
    kind = parted.value(*path, "type")
    name = str(kind).removeprefix(f"{home}.")
    return called(f"{home}.{name}") if isinstance(kind, str) and name.isidentifier() else None
