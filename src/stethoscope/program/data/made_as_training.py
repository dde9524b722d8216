"""Held-out data sets that are made with the switch of training: `Pictures(root, "val", train=True)`.

A class of data sets whose items depend on a switch treats training otherwise, mostly by chance: crops,
mirrors and noise. Where both loaders get the value that means training, held-out data are treated so too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.loader_pairs import LoaderPair, loader_pairs
from stethoscope.program.data.parted_pairs import DRAWS
from stethoscope.program.data.standardisation import SAME_DEPTH, is_same
from stethoscope.program.data.training_data import POSITIONAL
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.values import Applied, Constant, Instance, Site, Value

SWITCHES = frozenset({"train", "training", "is_train", "is_training", "augment", "augmentation"})
PARTS = frozenset({"split", "phase", "mode", "stage", "subset"})  # switches that are said in words
# What is done to pictures and sounds of training alone. Noise is left out: it may be the task.
AUGMENTING = frozenset({
    "augment", "augments", "augmentation", "augmentations", "aug", "jitter", "flip", "mirror", "distort",
    "perturb", "perturbation", "cutout", "mixup", "random",
})  # fmt: skip
MOST_DEEP = 2  # functions between the switch and the draw
RANDOM_TRANSFORMS = re.compile(
    r"Random|(?:Time|Frequency)Mask|ColorJitter|RandAug|TrivialAug|AutoAug|AugMix|SpecAug|MixUp|CutMix"
)
CHANCE = DRAWS | {"randn", "randn_like", "rand_like", "normal", "randperm", "permutation"}


@dataclass(frozen=True, slots=True, eq=False)
class MadeAsTraining:
    """A data set of an evaluation that is told to be one of training.

    `is_same` says that nothing else tells the two apart either: it holds the samples of training. `drawn` is
    what the switch lets chance do to an item.
    """

    switch: str
    judged: Site
    trained: Site
    drawn: Site | None
    is_same: bool


@remembered
def made_as_training(index: Index, settings: SettingsTree) -> tuple[MadeAsTraining, ...]:
    """Every evaluation whose data set has the switch of training on."""
    found: dict[int, MadeAsTraining] = {}
    for pair in loader_pairs(index, settings):
        pair.run.steps = max(pair.run.steps, STEPS // 4)
        try:
            for one in _of_pair(pair):
                found.setdefault(id(one.judged.node), one)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _of_pair(pair: LoaderPair) -> Iterator[MadeAsTraining]:
    trained, judged = (_dataset(pair, loader) for loader in (pair.trained, pair.judged))
    if trained is None or judged is None or trained is judged or trained.cls is not judged.cls:
        return
    if _is_named_for_training(pair):
        return
    for switch in sorted(judged.made_with.keys()):
        is_named = switch in SWITCHES | PARTS or not AUGMENTING.isdisjoint(words(switch))
        is_on = _is_on if is_named else _is_more_than_nothing
        if not all(is_on(one.made_with.get(switch)) for one in (trained, judged)):
            continue
        if not is_named and not _is_off_by_default(judged.cls, switch):
            continue
        drawn = _drawn_behind(pair.run.index, judged.cls, switch)
        same = _made_alike(trained, judged)
        if drawn is not None or (same and _is_asked(judged.cls, switch)):
            yield MadeAsTraining(switch, pair.judged.site, pair.trained.site, drawn, same)
            return


def _dataset(pair: LoaderPair, loader: Applied) -> Instance | None:
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    given = pair.run.force(options["dataset"]) if "dataset" in options else None
    return given if isinstance(given, Instance) else None  # of a part of one, the switch says less


def _is_named_for_training(pair: LoaderPair) -> bool:
    """Whether an evaluation says that it looks at training data: `train_eval_loader`."""
    given = [event for event in pair.events if isinstance(event, Assignment)]
    names = [ast.unparse(event.target) for event in given if event.value is pair.judged]
    return any("train" in words(name) for name in names)


def _is_on(value: Value | None) -> bool:
    return isinstance(value, Constant) and (value.value is True or value.value in ("train", "training"))


def _made_alike(one: Instance, other: Instance) -> bool:
    keys = (one.made_with.keys() | other.made_with.keys()) - {"self"}
    return all(
        key in one.made_with
        and key in other.made_with
        and is_same(one.made_with[key], other.made_with[key], SAME_DEPTH)
        for key in keys
    )


def _is_more_than_nothing(value: Value | None) -> bool:
    """Whether a value surely switches on what is off by default: `noise=0.01`, `patch=args.patch`."""
    if isinstance(value, Constant):
        return bool(value.value) and not isinstance(value.value, str)
    return False


def _is_off_by_default(cls: Class, switch: str) -> bool:
    """Whether a data set does without what a parameter asks for where nobody gives it."""
    init = cls.methods.get("__init__")
    if init is None:
        return False
    spec = init.node.args
    placed = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(placed[len(placed) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(arg, one) for arg, one in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if one]
    return any(arg.arg == switch and isinstance(one, ast.Constant) and not one.value for arg, one in pairs)


def _drawn_behind(index: Index, cls: Class, switch: str) -> Site | None:
    """What chance does to an item where the switch is on: a draw below `if self.train`."""
    item = cls.methods.get("__getitem__")
    for block in all_nodes(item.node, ast.If) if item is not None else ():
        if not _mentions(block.test, switch) or isinstance(block.test, ast.UnaryOp):
            continue
        for node in (block.test, *block.body):
            for call in _calls_made(node, switch):
                if item is not None and _draws(index, item, call, switch, MOST_DEEP):
                    return Site(item.source, call)
    return None


def _calls_made(node: ast.AST, switch: str) -> Iterator[ast.Call]:
    """The calls below a node that no other switch decides over: `if self.train: crop() else: centre()`."""
    if isinstance(node, ast.If | ast.IfExp) and any(
        _mentions(node.test, other) for other in (SWITCHES | PARTS) - {switch}
    ):
        return
    if isinstance(node, ast.Call):
        yield node
    for one in ast.iter_child_nodes(node):
        yield from _calls_made(one, switch)


def _draws(index: Index, function: Function, call: ast.Call, switch: str, depth: int) -> bool:
    """Whether a call draws, by itself or in the functions of the program that it leads to."""
    name = dotted(call.func) or ""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else name
    if last in CHANCE:
        return True
    target: object = index.resolve(index.module_of(function.source), name)
    if name.startswith("self.") and name.count(".") == 1 and function.owner is not None:
        target = index.method(function.owner, last)
        if target is None and _is_random_transform(function.owner, name):
            return True
    if depth == 0 or not isinstance(target, Function):
        return False
    return any(_draws(index, target, one, switch, depth - 1) for one in _calls_made(target.node, switch))


def _is_random_transform(cls: Class, name: str) -> bool:
    """Whether what an object keeps is a transform of a library that draws: `self.mask = TimeMasking(30)`."""
    return any(
        RANDOM_TRANSFORMS.match(bare_name(call))
        for method in cls.methods.values()
        for node in all_nodes(method.node, ast.Assign)
        if name in map(dotted, node.targets)
        for call in all_nodes(node.value, ast.Call)
    )


def _is_asked(cls: Class, switch: str) -> bool:
    """Whether the making of a data set depends on the switch: it picks the samples."""
    init = cls.methods.get("__init__")
    if init is None:
        return False
    tests = [one.test for one in all_nodes(init.node, ast.If)]
    tests += [one.test for one in all_nodes(init.node, ast.IfExp)]
    return any(_mentions(test, switch) for test in tests)


def _mentions(test: ast.AST, switch: str) -> bool:
    return any(switch in (getattr(one, "id", ""), getattr(one, "attr", "")) for one in all_nodes(test))
