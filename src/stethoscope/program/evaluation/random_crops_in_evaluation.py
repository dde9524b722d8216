"""Held-out data sets whose transforms cut a random part out of every sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import datasets, is_loader
from stethoscope.program.data.training_data import POSITIONAL, sources
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Instance, Items, Site, Value

CROPS = frozenset({"RandomCrop", "RandomResizedCrop", "RandomSizedCrop"})


@dataclass(frozen=True, slots=True, eq=False)
class RandomCrop:
    """A random crop among the transforms of held-out data, and the loader of these."""

    crop: Site
    loader: Site


def random_crops(walk: Walk) -> Iterator[RandomCrop]:
    """The random crops that what is measured in a walk goes through."""
    run = walk.trace.run
    for evaluation in walk.evaluations:
        for scope in evaluation.region:
            if scope.kind not in {"loop", "comprehension"}:
                continue
            for loader in sources(scope.value):
                for crop in _crops(run, loader) if is_loader(loader) else ():
                    yield RandomCrop(crop.site, loader.site)


def _crops(run: Execution, loader: Applied) -> Iterator[Applied]:
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    dataset = run.force(options["dataset"]) if "dataset" in options else None
    if isinstance(dataset, Applied) and ".datasets." in dataset.callee:
        found = _chains(run, (*dataset.args, *dataset.keywords.values()))
    else:
        made = [
            one
            for one in (datasets(run, dataset) if dataset is not None else ())
            if isinstance(one, Instance)
        ]
        found = _chains(run, tuple(made[0].attributes.values())) if len(made) == 1 else []
    if len(found) == 1:  # of several, one may be for training
        listed = found[0].args[0] if found[0].args else found[0].keywords.get("transforms")
        for step in listed.items if isinstance(listed, Items) else ():
            if isinstance(step, Applied) and step.callee.rpartition(".")[2] in CROPS:
                yield step


def _chains(run: Execution, values: tuple[Value, ...]) -> list[Applied]:
    forced = {id(one): one for one in map(run.force, values)}
    return [one for one in forced.values() if isinstance(one, Applied) and one.callee.endswith("Compose")]
