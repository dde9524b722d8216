"""Samples that a data set resizes for evaluation, and leaves at their size for training.

What counts is what happens to a sample of either loader, however the data set was told to do it: a flag, a
pipeline of functions, a size that only one of them is given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import batches, datasets, items
from stethoscope.program.data.ingredients import few_of_each, ingredients
from stethoscope.program.data.loader_pairs import LoaderPair, every_loader_pair
from stethoscope.program.data.training_data import POSITIONAL
from stethoscope.program.evaluation.resizes import is_by_factor, is_resize
from stethoscope.program.index import Index
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.settings_paths import SETTINGS_READERS
from stethoscope.program.walk.values import Applied, Instance, Items, Part, Site, Value

SIZES = ("size", "dsize", "output_size", "scale_factor")
SHAPES = frozenset({"shape", "size", "width", "height"})
POOLINGS = ("pool", "Pool")
RESIZING_WORDS = ("resize", "scale", "zoom", "affine", "perspective")


@dataclass(frozen=True, slots=True, eq=False)
class ResizedSamples:
    """The resize of held-out samples, and the two loaders."""

    resize: Site
    judged: Site
    trained: Site


def resized_samples(index: Index, settings: SettingsTree) -> Iterator[ResizedSamples]:
    """Every resize that only the samples of a held-out loader go through."""
    for pair in every_loader_pair(index, settings):
        pair.run.steps = max(pair.run.steps, STEPS // 4)
        try:
            if _are_alike(pair):
                yield from _only_judged(pair)
        except (Exhausted, RecursionError):
            continue


def _only_judged(pair: LoaderPair) -> Iterator[ResizedSamples]:
    trained, judged = (_operations(pair.run, loader) for loader in (pair.trained, pair.judged))
    both = {_written(one) for one in judged} & {_written(one) for one in trained}
    if not trained or any(
        _may_resize(one) and not (_written(one) in both and _keeps_proportion(pair.run, one))
        for one in trained
    ):
        return
    for one in judged:
        if (
            is_resize(one)
            and _written(one) not in both
            and not any(word in one.callee for word in POOLINGS)
            and _is_to_a_size(pair.run, one)
        ):
            yield ResizedSamples(one.site, pair.judged.site, pair.trained.site)
            return


def _written(step: Applied) -> tuple[ast.AST, ast.AST | None]:
    """Where a step is done, and where what does it is made."""
    return step.site.node, step.maker.site.node if step.maker is not None else None


def _are_alike(pair: LoaderPair) -> bool:
    """Whether both load data of one class: others may have been given their size before."""
    kinds = [_kinds(pair.run, loader) for loader in (pair.trained, pair.judged)]
    return bool(kinds[0] & kinds[1])


def _kinds(run: Execution, loader: Applied) -> set[str]:
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    behind = datasets(run, options["dataset"]) if "dataset" in options else ()
    found = (one.cls for one in behind if isinstance(one, Instance))
    return {ancestor.qualified for cls in found for ancestor in run.index.lineage(cls)}


def _operations(run: Execution, loader: Applied) -> list[Applied]:
    """All that is done to a sample and where samples are collated, each step of a chain by itself."""
    found: list[Applied] = []
    for made in (*items(run, loader), *batches(run, loader)):
        for one in ingredients(run, made, leading=few_of_each):
            if isinstance(one, Applied):
                found.extend(_steps(one))
    return found


def _steps(value: Applied) -> Iterator[Applied]:
    yield value
    maker = value.maker
    if maker is None or not maker.callee.endswith(("Compose", "Sequential")):
        return
    listed = maker.args[0] if maker.args else maker.keywords.get("transforms")
    steps = listed.items if isinstance(listed, Items) else maker.args
    for step in steps:
        if isinstance(step, Applied):
            yield Applied(f"{step.callee}()", value.args, {}, step.site, step)


def _may_resize(value: Applied) -> bool:
    """Whether training has sizes of its own: a resize, a change of scale, or a step that is not known."""
    if value.callee == "()":
        return True
    return is_resize(value) or any(word in value.callee.lower() for word in RESIZING_WORDS)


def _keeps_proportion(run: Execution, resize: Applied) -> bool:
    """Whether a size goes by that of the sample, as that of the input of a super-resolution does."""
    return is_resize(resize) and ("scale_factor" in resize.keywords or not _is_to_a_size(run, resize))


def _is_to_a_size(run: Execution, resize: Applied) -> bool:
    """Whether the size is not computed from the sample."""
    if is_by_factor(resize):
        return False
    asked = resize.maker or resize
    sizes: list[Value] = [asked.keywords[name] for name in SIZES if name in asked.keywords]
    sizes = sizes or list(asked.args[:1] if resize.maker is not None else asked.args[1:2])
    return bool(sizes) and not any(_is_of_sample(run, size) for size in sizes)


def _is_of_sample(run: Execution, size: Value) -> bool:
    made = list(ingredients(run, size))
    if any(isinstance(one, Applied) and one.callee in SETTINGS_READERS for one in made):
        return False  # `config["size"]`
    for one in made:
        if isinstance(one, Part) and one.key in SHAPES and not isinstance(one.base, Instance):
            return True
        if isinstance(one, Applied) and one.callee in {".size", ".dim", "len"}:
            return True
    return False
