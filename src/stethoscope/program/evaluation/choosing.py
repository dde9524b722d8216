"""By what a program chooses the weights that it keeps as its best."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.data.batches import batch_parts
from stethoscope.program.data.ingredients import part_path
from stethoscope.program.data.training_data import sources
from stethoscope.program.evaluation.beaten_records import beaten, conditions
from stethoscope.program.evaluation.evaluations import DATA_WORDS, Walk, names_in
from stethoscope.program.evaluation.trained_runs import innermost_round
from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.values import Applied, Delayed, Instance, Items, Site, Table, Value, inputs
from stethoscope.run import Recipe, Setting, Source

# fmt: off
SAVING_WORDS = frozenset({"save", "checkpoint", "snapshot", "ckpt", "copyfile"})
NO_WEIGHTS = frozenset({
    "fig", "figure", "image", "images", "plot", "config", "hyperparameters", "results", "json", "csv", "log",
    "metrics", "history", "predictions", "samples", "video", "text", "savefig", "args", "exists", "load",
    "latest", "tokenizer", "optimizer", "embedding", "embeddings", "numpy",
})
WEIGHTS_WORDS = frozenset({"state", "weights", "wts", "model", "params", "dict", "net", "network", "weight"})
# fmt: on
# What names the class of a callback in a file: of LightningCLI, of Hydra, of registries.
_CLASS_KEYS = frozenset({"class_path", "_target_", "target", "type", "name"})


@dataclass(frozen=True, slots=True, eq=False)
class Choosing:
    """A save under the condition that a score beats the best so far.

    `metric` is the score as a value, `written` as it stands in the source. `training` and `held_out` say
    which outputs of the network it was made from; neither where that was not seen.
    """

    walk: Walk
    save: Event
    source: Source
    comparison: ast.Compare
    metric: Value
    written: ast.expr
    training: bool
    held_out: bool

    @property
    def text(self) -> str:
        """The score as written, by who hands it in where a function compares it for others."""
        handed = self.handed_in
        return ast.unparse(handed[0][1] if handed else self.written)

    @property
    def handed_in(self) -> list[tuple[Site, ast.expr]]:
        """The calls that hand the score to the function that compares it, outermost first, and how."""
        found: list[tuple[Site, ast.expr]] = []
        written: ast.expr | None = self.written
        for scope in self.save.scopes():
            if scope.kind != "call" or not isinstance(written, ast.Name):
                continue
            call = self.walk.call_of(scope) if isinstance(scope.node, FunctionNode) else None
            written = _argument(call, scope.node, written.id) if call is not None else None
            if call is None or written is None:
                break
            found.insert(0, (call.site, written))
        return found


def choosings(walk: Walk) -> Iterator[Choosing]:
    """Every save of a walk that a comparison with the best score guards."""
    outputs = training_outputs(walk)
    for event in walk.trace.events:
        if not _keeps_weights(event):
            continue
        for scope in conditions(event, walk.short_cuts, walk.position):
            found = beaten(scope)
            if found is None:
                continue
            applied, metric, written = found
            training, held_out = origins(walk, metric, outputs)
            node = applied.site.node
            if isinstance(node, ast.Compare):
                source = applied.site.source
                yield Choosing(walk, event, source, node, metric, written, training, held_out)
            break


def _keeps_weights(event: Event) -> bool:
    if isinstance(event, Call):
        named = set(words(event.name))
        return bool(named & SAVING_WORDS) and not named & NO_WEIGHTS
    return isinstance(event, Assignment) and any(_is_best_copy(*pair) for pair in _given(event))


def _given(event: Assignment) -> Iterator[tuple[ast.expr, Value]]:
    """Each target of an assignment with what it is given: `best, best_state = loss, copy(...)`."""
    if isinstance(event.target, ast.Tuple) and isinstance(event.value, Items):
        yield from zip(event.target.elts, event.value.items, strict=False)
    elif isinstance(event.value, Items):
        yield from ((event.target, item) for item in event.value.items)
    else:
        yield event.target, event.value


def _is_best_copy(target: ast.expr, value: Value) -> bool:
    names = {word for name in names_in(target) for word in words(name)}
    is_copy = isinstance(value, Applied | Delayed | Table | Instance)
    if isinstance(value, Applied) and value.callee.startswith("copy.") and "state_dict" in value.site.text:
        return True
    return "best" in names and bool(names & WEIGHTS_WORDS) and is_copy


def _argument(call: Call, function: ast.AST, name: str) -> ast.expr | None:
    """What a call writes for a parameter."""
    node = call.site.node
    spec = getattr(function, "args", None)
    if not isinstance(node, ast.Call) or not isinstance(spec, ast.arguments):
        return None
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    return dict(zip(names, node.args, strict=False)).get(name)


# What a score was made from


def _forward_nodes(walk: Walk) -> set[int]:
    return {id(move.event.site.node) for move in walk.moves if move.kind is Kind.FORWARD}


def training_outputs(walk: Walk) -> frozenset[int]:
    """The ids of the losses that are minimised and of the network outputs they were made from."""
    forwards = _forward_nodes(walk)
    found: set[int] = set()
    for move in walk.moves:
        if move.kind is Kind.BACKWARD and move.subject is not None:
            found.add(id(move.subject))
            found |= {id(v) for v in ancestry(walk.trace.run, move.subject) if _is_at(v, forwards)}
    return frozenset(found)


def origins(walk: Walk, metric: Value, outputs: frozenset[int]) -> tuple[bool, bool]:
    """Whether a score was made from what the loss was made from or from training data, and from others."""
    forwards = _forward_nodes(walk)
    trained_on = _trained_on(walk)
    training = held_out = False
    for value in ancestry(walk.trace.run, metric):
        if id(value) in outputs:
            training = True
        elif _is_at(value, forwards):
            measured = _loaders(walk, value) if trained_on else set()
            training = training or bool(measured & trained_on)
            held_out = held_out or not measured <= trained_on or not measured
    return training, held_out


def _trained_on(walk: Walk) -> set[int]:
    """The loaders that training draws its batches from."""
    found: set[int] = set()
    for move in walk.moves:
        if move.kind is Kind.FORWARD and id(move.event) in walk.trained:
            around = innermost_round(move.event)
            found |= {id(made) for made in sources(around.value if around is not None else None)}
    return found


def _loaders(walk: Walk, output: Value) -> set[int]:
    """The loaders whose batches a network was run on."""
    run = walk.trace.run
    run.steps = max(run.steps, STEPS // 8)
    try:
        return {id(part_path(part)[0]) for one in inputs(output) for part in batch_parts(run, one)}
    except (Exhausted, RecursionError):
        return set()


def _is_at(value: Value, nodes: set[int]) -> bool:
    return isinstance(value, Applied | Delayed) and id(value.site.node) in nodes


# Lightning


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """A checkpoint callback of Lightning that keeps the best by a logged name."""

    source: Source
    call: ast.Call
    value: ast.Constant
    name: str


def monitors(index: Index) -> Iterator[Monitor]:
    """Every `ModelCheckpoint(monitor=...)` whose name is known."""
    for module in index.modules.values():
        for node in all_nodes(module.source.tree) if "ModelCheckpoint" in module.source.text else ():
            if isinstance(node, ast.Call) and (dotted(node.func) or "").endswith("ModelCheckpoint"):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                value = _constant(index, module, given.get("monitor"))
                if value is not None and isinstance(value.value, str) and not _keeps_all(given):
                    yield Monitor(module.source, node, value, value.value)


def written_monitors(index: Index, recipe: Recipe) -> Iterator[Setting]:
    """The settings that say by what a checkpoint callback of Lightning keeps the best."""
    asked = set(_monitor_settings(index))
    for setting in recipe:
        own = setting.key[:-1]
        if setting.leaf == "monitor" and own[-1:] == ("init_args",):
            own = own[:-1]
        made = [one for one in recipe if one.key[:-1] == own and one.leaf in _CLASS_KEYS]
        is_checkpoint = any(str(one.value).endswith("ModelCheckpoint") for one in made) or (
            not made and "checkpoint" in str(own[-1:]).lower() and bool(asked)
        )
        if (setting.leaf == "monitor" and is_checkpoint) or (setting.leaf in asked and not made):
            kept = (one.value for one in recipe if (*setting.key[:-1], "save_top_k") == one.key)
            if isinstance(setting.value, str) and not {-1, 0} & set(map(_number, kept)):
                yield setting


def _monitor_settings(index: Index) -> Iterator[str]:
    """The names of the settings that `ModelCheckpoint(monitor=cfg.best_by, **cfg.checkpoint)` takes."""
    for module in index.modules.values():
        for node in all_nodes(module.source.tree) if "ModelCheckpoint" in module.source.text else ():
            if not (isinstance(node, ast.Call) and (dotted(node.func) or "").endswith("ModelCheckpoint")):
                continue
            for keyword in node.keywords:
                if keyword.arg is None:
                    yield "monitor"
                elif keyword.arg == "monitor" and isinstance(keyword.value, ast.Attribute):
                    yield keyword.value.attr
                elif keyword.arg == "monitor" and isinstance(keyword.value, ast.Subscript):
                    text = getattr(keyword.value.slice, "value", None)
                    if isinstance(text, str):
                        yield text


def _number(value: object) -> object:
    return value if isinstance(value, int) else None


def _constant(index: Index, module: Module, node: ast.expr | None) -> ast.Constant | None:
    if isinstance(node, ast.Name):
        target = index.resolve(module, node.id)
        node = getattr(target, "value", None)
    return node if isinstance(node, ast.Constant) else None


def _keeps_all(given: dict[str | None, ast.expr]) -> bool:
    top = given.get("save_top_k")
    if top is None:
        return False
    try:
        return ast.literal_eval(top) in {-1, 0}
    except ValueError:
        return False


def logged_by(classes: Iterable[Class], method: str) -> frozenset[str]:
    """The names that the methods of this name log in Lightning modules, helpers of the class not followed."""
    found: set[str] = set()
    for cls in classes:
        function = cls.methods.get(method)
        if function is not None:
            found.update(_logged(function))
    return frozenset(found)


def _logged(function: Function) -> Iterator[str]:
    for node in all_nodes(function.node):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "log" and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)
        if node.func.attr == "log_dict" and node.args and isinstance(node.args[0], ast.Dict):
            yield from (str(key.value) for key in node.args[0].keys if isinstance(key, ast.Constant))


def validating_modules(index: Index) -> Iterator[Class]:
    """The Lightning modules with a validation of their own."""
    return (
        cls for cls in index.classes if "validation_step" in cls.methods and "training_step" in cls.methods
    )


def is_of_training(name: str) -> bool:
    """Whether a name says that it was measured on the training data."""
    parts = set(words(re.sub(r"\W+", "_", name)))
    return bool(parts & {"train", "training", "trn"}) and not parts & DATA_WORDS
