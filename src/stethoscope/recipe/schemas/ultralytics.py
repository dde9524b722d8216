"""Ultralytics: the flat list of arguments of a YOLO training, checked against default.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.recipe.schemas._sections import Held, Sections, share
from stethoscope.recipe.schemas._table import table

FRAMEWORK = "Ultralytics"
PACKAGES = ("ultralytics",)

FEWEST = 8  # arguments that a file must have
SHARE = 0.7  # of a file's names that must be arguments
# The file of a data set and the settings of YOLOv5 have names that YOLOv8 has not.
_OF_OTHERS = frozenset({"nc", "names", "anchor_t", "obj", "obj_pw", "iou_t", "hyp", "backbone"})


def held(parted: Sections) -> Iterator[Held]:
    """A file of arguments, as people pass it by `cfg=` and as a run records it."""
    record = table("ultralytics").records["arguments"]
    names = parted.names()
    of_a_task = names >= {"task", "mode"} and not names.isdisjoint({"imgsz", "lr0", "mosaic"})
    telling = of_a_task or names >= {"imgsz", "model", "data"}
    known = names & set(record.names)
    if telling and not names & _OF_OTHERS and len(known) >= FEWEST and share(names, known) >= SHARE:
        yield Held((), record, frozenset({"session", "augmentations", "save_dir"}))
