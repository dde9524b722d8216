"""Samples that a data set keeps after chance has changed them: every epoch gets what the first one drew.

if i not in self.cache: self.cache[i] = self.augment(read(i))      the augmented one is kept
@lru_cache                                                         so it is here
self.items = [self.augment(read(path)) for path in paths]          and here, once for all
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import datasets
from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.data.repeated_chance import WORKERS_PLACE
from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.index import Function, dotted
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.values import Applied, Constant, Instance, Site

# Transforms of libraries that draw at random, by their names.
CHANCE = re.compile(
    r"^Random(?!Sampler|State)|^ColorJitter$|^(?:Auto|Rand|TrivialAugment|Aug)(?:Augment|Mix|Wide)|^(?:Horizontal|Vertical)?Flip$"
    r"|^GaussNoise$|^ShiftScaleRotate$|^CoarseDropout$|^(?:Time|Frequency)Masking$|^ElasticTransform$"
)
REMEMBERING = frozenset({"lru_cache", "cache", "cached", "memoize"})


@dataclass(frozen=True, slots=True, eq=False)
class KeptAfterChance:
    """Where a data set keeps what a random transform gave, that transform, and the loader."""

    kept: Site
    chance: Site
    name: str


def kept_after_chance(loader: TrainingLoader) -> KeptAfterChance | None:
    """The samples of a training loader that are drawn once and handed out for ever."""
    run = loader.run
    run.steps = max(run.steps, STEPS // 4)
    try:
        made = (
            [one for one in datasets(run, loader.dataset) if isinstance(one, Instance)]
            if loader.dataset
            else []
        )
        for dataset in made:
            drawn = dict(_random_transforms(loader, dataset))
            for site, name in _kept(loader, dataset, drawn) if drawn else ():
                return KeptAfterChance(site, drawn[name], name)
    except (Exhausted, RecursionError):
        return None
    return None


def _random_transforms(loader: TrainingLoader, dataset: Instance) -> Iterator[tuple[str, Site]]:
    """The attributes of a data set that hold transforms of a library which draw at random."""
    for name, value in dataset.attributes.items():
        for one in ingredients(loader.run, loader.run.force(value)):
            if isinstance(one, Applied) and CHANCE.search(one.callee.removesuffix("()").rpartition(".")[2]):
                yield name, one.site
                break


def _kept(loader: TrainingLoader, dataset: Instance, drawn: dict[str, Site]) -> Iterator[tuple[Site, str]]:
    lineage = loader.run.index.lineage(dataset.cls)
    methods = {name: one for base in reversed(lineage) for name, one in base.methods.items()}
    item, made = methods.get("__getitem__"), methods.get("__init__")
    if item is None:
        return
    reached = [item, *(methods[name] for name in _own_calls(item) if name in methods)]
    if _forgets_by_epochs(loader):
        reached = []  # each epoch begins with workers that remember nothing
    for method in reached:
        yield from _remembered(method, drawn)
        yield from _stored(method, drawn)
    if made is not None and not any(
        _asked(node, drawn)
        for method in methods.values()
        if method is not made
        for node in own_nodes(method.node, ast.Call)
    ):
        yield from _made_once(made, drawn)


def _forgets_by_epochs(loader: TrainingLoader) -> bool:
    """Whether a loader has workers, or may have, that end with each epoch."""
    given = loader.made.args
    workers = (
        given[WORKERS_PLACE] if len(given) > WORKERS_PLACE else loader.options.get("num_workers", Constant(0))
    )
    stays = loader.options.get("persistent_workers")
    if isinstance(stays, Constant) and stays.value is True:
        return False
    return not (isinstance(workers, Constant) and workers.value == 0)


def _own_calls(method: Function) -> Iterator[str]:
    for call in own_nodes(method.node, ast.Call):
        if (dotted(call.func) or "").startswith("self."):
            yield bare_name(call)


def _asked(node: ast.AST, drawn: dict[str, Site]) -> str:
    """The random transform that is called: `augment` in `self.augment(image)`; "" for other calls."""
    name = (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
    first, _, last = name.partition(".")
    return last if first == "self" and last in drawn else ""


def _remembered(method: Function, drawn: dict[str, Site]) -> Iterator[tuple[Site, str]]:
    """A method whose results are remembered, with chance in it."""
    for decorator in method.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (dotted(called) or "").rpartition(".")[2] in REMEMBERING:
            names = (name for node in own_nodes(method.node, ast.Call) if (name := _asked(node, drawn)))
            yield from ((Site(method.source, method.node), name) for name in names)


def _stored(method: Function, drawn: dict[str, Site]) -> Iterator[tuple[Site, str]]:
    """`self.cache[i] = sample`, of a sample that chance changed before."""
    changed: dict[str, str] = {}
    parameters = set(method.parameters) - {"self"}
    for node in sorted(own_nodes(method.node, ast.Assign), key=lambda one: (one.lineno, one.col_offset)):
        name = next((found for one in all_nodes(node.value, ast.Call) if (found := _asked(one, drawn))), "")
        name = name or next(
            (changed[one.id] for one in all_nodes(node.value, ast.Name) if one.id in changed), ""
        )
        for target in node.targets:
            match target:
                case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=store), slice=key):
                    is_of_item = any(one.id in parameters for one in all_nodes(key, ast.Name))
                    if name and is_of_item and _hands_out(method, store):
                        yield Site(method.source, node), name
                case ast.Name() | ast.Tuple():
                    held = [one.id for one in all_nodes(target, ast.Name)]
                    for one in held:
                        changed.pop(one, None)
                    changed.update(dict.fromkeys(held, name) if name else {})


def _hands_out(method: Function, store: str) -> bool:
    """Whether what is stored is read again, and nothing random is asked for what was read."""
    reads = [
        node
        for node in own_nodes(method.node, ast.Subscript)
        if isinstance(node.ctx, ast.Load) and dotted(node.value) == f"self.{store}"
    ]
    gets = [one for one in own_nodes(method.node, ast.Call) if dotted(one.func) == f"self.{store}.get"]
    return bool(reads or gets)


def _made_once(made: Function, drawn: dict[str, Site]) -> Iterator[tuple[Site, str]]:
    """`self.items = [self.augment(one) for one in ...]`, and appends in a loop, where the object is made."""
    lists = [(one, one.elt) for one in own_nodes(made.node, ast.ListComp)]
    loops = [(one, inner) for one in own_nodes(made.node, ast.For) for inner in one.body]
    for node, part in (*lists, *loops):
        for one in all_nodes(part, ast.Call):
            if name := _asked(one, drawn):
                yield Site(made.source, node), name
                return
