"""What is not known while a sample is made, under the words that it goes by, and what may stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stethoscope.program.data.parted_pairs import INPUT_WORDS, TARGET_WORDS
from stethoscope.program.likenesses import words

# fmt: off
SIZES = frozenset({"size", "crop", "patch", "cropsize", "imgsize", "patchsize", "resolution"})
RATIOS = frozenset({"scale", "upscale", "sf", "upsample", "factor"})
PARTS = frozenset({"split", "mode", "phase", "subset", "partition", "stage"})
# What a switch of training samples is called; others keep what they are by default.
CHANGING = frozenset({
    "augment", "augmentation", "augmentations", "aug", "train", "training", "flip", "hflip", "vflip", "rot",
    "rotate", "rotation", "random", "mirror", "jitter", "istrain", "usehflip", "userot",
})
IGNORED = frozenset({"ignore", "void"})
MORE_INPUTS = frozenset({"left", "degraded", "hazy", "input", "jpg", "jpegs", "frame", "frames"})
MORE_TARGETS = frozenset({
    "fine", "gtfine", "mask", "anno", "ann", "lab", "disparity", "disp", "normals", "parsing", "matte",
    "alpha", "lbl", "segs", "msk",
})
# Pictures that are held against each other as they are, and need not show the same places.
COMPARED = frozenset({"source", "src"})
# Targets between whose numbers others lie.
GRADUAL = frozenset({
    "depth", "depths", "disparity", "disp", "alpha", "matte", "normals", "density", "saliency", "heatmap",
    "flow", "height", "intensity", "thermal",
})
# fmt: on
IGNORE = 255


@dataclass(frozen=True, slots=True)
class Anything:
    """Something that is not known: a path, a list of files, a chain of transforms."""

    words: frozenset[str] = frozenset()

    def part(self, name: object) -> Anything:
        """An attribute or item of it."""
        return Anything(self.words | frozenset(words(name) if isinstance(name, str) else ()))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is assumed where a program says nothing: the side of a crop, and how much larger targets are."""

    side: Any = 32
    ratio: int = 1


def joined(*parts: Any) -> Anything:
    """What is made of several things, some of which are not known."""
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Anything):
            found |= part.words
        elif isinstance(part, str):
            found |= set(words(part.replace("-", "_").replace("/", "_")))
        elif isinstance(part, list | tuple):
            found |= joined(*part).words
    return Anything(frozenset(found))


def any_unknown(parts: Any) -> bool:
    """Whether one of several things is not known."""
    return any(
        isinstance(one, Anything) or (isinstance(one, list | tuple) and any_unknown(one)) for one in parts
    )


def guessed(name: str, default: Any, about: Circumstances) -> Any:
    """What a parameter of a data set may be, by its name and its default."""
    spoken = set(words(name))
    if spoken & PARTS:
        return "train"
    if isinstance(default, bool) or (default is None and spoken & CHANGING and not spoken & SIZES):
        return True if spoken & CHANGING and not spoken & {"no", "not", "test", "val"} else default
    if spoken & RATIOS and not isinstance(default, list | tuple | float):
        return about.ratio if default is None else default
    if default is not None:
        return default
    if spoken & SIZES:
        return about.side
    if spoken & IGNORED:
        return IGNORE
    return None


def roles_of(read_as: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """The roles of what is read for a sample, by the words that the others do not go by as well."""
    if len(read_as) != 2:
        return tuple(role_of(known) for known in read_as)
    first, second = read_as
    roles = role_of(first - second), role_of(second - first)
    if roles[0] == roles[1]:
        roles = role_of(first), role_of(second)
    other = {"input": "target", "target": "input", "": ""}
    return roles[0] or other[roles[1]], roles[1] or other[roles[0]]


def role_of(known: frozenset[str]) -> str:
    """Whether words speak of an input or of a target, "" where they say neither or both."""
    is_target = bool(known & (TARGET_WORDS | MORE_TARGETS))
    is_input = bool(known & ((INPUT_WORDS | MORE_INPUTS) - COMPARED))
    if is_target:
        return "target"
    return "input" if is_input else ""
