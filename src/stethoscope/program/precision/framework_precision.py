"""The precision that a framework trains in, and the methods and networks that it calls there.

Lightning's and Hugging Face's trainers, mmengine's wrappers and deepspeed cast by themselves: nothing in the
source enters a region. What they were told stands in a call (`Trainer(precision=...)`), in the arguments of
one (`TrainingArguments(fp16=True)`) or in the settings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.precision.autocast import (
    HALVES,
    PRECISIONS,
    Autocast,
    DType,
    named_dtype,
    precision_autocast,
)
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated, stated_option
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Choice, Constant, Instance, Leaf, Part, Site, Value

ARGUMENTS = frozenset({"SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig", "ORPOConfig"})
TRAINERS = frozenset({"Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer"})
NETWORKS = ("Module", "PreTrainedModel", "BaseModel", "ModelMixin", "LightningModule")
SWITCHES = (("fp16", DType.FLOAT16), ("bf16", DType.BFLOAT16))
WRAPPER = "AmpOptimWrapper"
STEPS = 4_000  # for looking up one expression


@dataclass(frozen=True, slots=True, eq=False)
class FrameworkPrecision:
    """The region that a framework opens around training; `weights` where it casts these instead."""

    region: Autocast
    weights: DType | None = None
    site: Site | None = None  # where it was told, if in the source


@remembered
def told_precision(index: Index, settings: SettingsTree) -> FrameworkPrecision | None:
    """What a framework of the program was told, looked up once."""
    return framework_precision(index, settings, Execution(index, settings, 0))


def framework_precision(index: Index, settings: SettingsTree, run: Execution) -> FrameworkPrecision | None:
    """What a framework of the program was told; None where none is used, or all stays in float32."""
    uncertain = None
    for module in index.modules.values():
        text = module.source.text
        if not any(word in text for word in ("Trainer", "TrainingArguments", "Config", WRAPPER, "deepspeed")):
            continue
        for_deepspeed = "deepspeed" in text
        for node in all_nodes(module.source.tree, ast.Call, ast.Dict):
            cast = _of_deepspeed(node) if for_deepspeed else None
            if cast is not None:
                return FrameworkPrecision(Autocast(frozenset({cast})), cast, Site(module.source, node))
            found = _told(node, module, settings, run)
            if found is None or found.is_off:
                continue
            if found.known:
                weights = _weights(node, module, settings, run)
                return FrameworkPrecision(found, weights, Site(module.source, node))
            uncertain = uncertain or found
    in_settings = _in_settings(index, settings)
    if in_settings is not None:
        return in_settings
    return FrameworkPrecision(uncertain) if uncertain is not None else None


def _told(node: ast.AST, module: Module, settings: SettingsTree, run: Execution) -> Autocast | None:
    if not isinstance(node, ast.Call | ast.Dict):
        return None
    if isinstance(node, ast.Dict):
        return _of_wrapper(dict(zip(map(_text, node.keys), node.values, strict=True)))
    name = (dotted(node.func) or "").rpartition(".")[2]
    words = {word.arg: word.value for word in node.keywords if word.arg}
    if name == "dict" or name == WRAPPER:
        return _of_wrapper(words if name == "dict" else {"type": ast.Constant(WRAPPER), **words})
    if name == "Trainer" and "precision" in words:
        return precision_autocast(known_value(words["precision"], module, settings, run))
    if name.endswith("TrainingArguments") or name in ARGUMENTS:
        return _of_arguments(words, module, settings, run)
    return None


def _weights(node: ast.AST, module: Module, settings: SettingsTree, run: Execution) -> DType | None:
    """The half type that a trainer casts the weights to: `Trainer(precision="bf16-true")`."""
    words = {word.arg: word.value for word in node.keywords} if isinstance(node, ast.Call) else {}
    asked = words.get("precision")
    value = known_value(asked, module, settings, run) if asked is not None else None
    known = PRECISIONS.get(str(value.value).lower()) if isinstance(value, Constant) else None
    return known[0] if known is not None and known[1] else None


def _of_arguments(
    words: dict[str, ast.expr], module: Module, settings: SettingsTree, run: Execution
) -> Autocast | None:
    for word, dtype in SWITCHES:
        switch = words.get(word)
        if switch is None:
            continue
        value = known_value(switch, module, settings, run)
        # `fp16=torch.cuda.is_available()` is on wherever it matters.
        if (isinstance(value, Constant) and value.value is True) or "is_available" in ast.dump(switch):
            return Autocast(frozenset({dtype}))
        if not isinstance(value, Constant):
            return Autocast(frozenset({dtype}), None, known=False)
    return None


def _of_deepspeed(node: ast.AST) -> DType | None:
    """The type of the weights under `{"fp16": {"enabled": True}}`, as deepspeed is told it."""
    if not isinstance(node, ast.Dict):
        return None
    entries = {_text(key): value for key, value in zip(node.keys, node.values, strict=True)}
    for word, dtype in SWITCHES:
        section = entries.get(word)
        inside = section if isinstance(section, ast.Dict) else ast.Dict([], [])
        for key, value in zip(inside.keys, inside.values, strict=True):
            if _text(key) == "enabled" and isinstance(value, ast.Constant) and value.value is True:
                return dtype
    return None


def _of_wrapper(words: dict[str, ast.expr] | dict[str | None, ast.expr]) -> Autocast | None:
    """`dict(type="AmpOptimWrapper", dtype="bfloat16")`, as mmengine has it."""
    kind = words.get("type")
    if not (isinstance(kind, ast.Constant) and kind.value == WRAPPER):
        return None
    asked = words.get("dtype")
    dtype = named_dtype(Constant(asked.value)) if isinstance(asked, ast.Constant) else None
    return Autocast(frozenset({dtype or DType.FLOAT16}))


def _text(key: ast.expr | None) -> str | None:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _in_settings(index: Index, settings: SettingsTree) -> FrameworkPrecision | None:
    """What the settings of a trainer say: `trainer: {precision: 16-mixed}`, `fp16: true`."""
    sources = [source.text for source in index.program]
    uses = {word: any(word in text for text in sources) for word in ("Trainer", "LightningCLI", "deepspeed")}
    if uses["Trainer"] or uses["LightningCLI"]:
        for value in settings.values_named("precision"):
            known = PRECISIONS.get(str(value).lower())
            if known is not None and known[0] in HALVES:
                return FrameworkPrecision(Autocast(frozenset({known[0]})), known[0] if known[1] else None)
    for word, dtype in SWITCHES:
        for value in settings.values_named(word):
            if isinstance(value, dict) and value.get("enabled") is True and uses["deepspeed"]:
                return FrameworkPrecision(Autocast(frozenset({dtype})), dtype)
            if value is True and any("TrainingArguments" in text for text in sources):
                return FrameworkPrecision(Autocast(frozenset({dtype})))
    return None


def known_value(node: ast.expr, module: Module, settings: SettingsTree, run: Execution) -> Value:
    """What an expression of constants, settings and options stands for."""
    value = evaluated(node, module, run)
    if isinstance(value, Leaf):
        return stated_option(run.index, settings, value.name) or value
    if isinstance(value, Part | Choice):
        return stated(run.index, settings, value) or value
    return value


def evaluated(node: ast.expr, module: Module, run: Execution, names: dict[str, Value] | None = None) -> Value:
    """What an expression among a module's names stands for."""
    run.steps = STEPS
    try:
        return run.force(run.evaluate(node, Frame(module, names or {})))
    except (Exhausted, RecursionError):
        return Leaf("unknown")


def made_somewhere(index: Index, run: Execution, cls: Class) -> Instance | None:
    """An object of a class as the program makes it: `Task(Net(), rate)`, where no walk comes by."""
    for module, node in _makings(index).get(cls, ()):
        if cls.name not in module.source.text:
            continue
        nodes = all_nodes(module.source.tree)
        given = (*node.args, *(word.value for word in node.keywords))
        makers = {
            one.id: made[0]
            for one in given
            if isinstance(one, ast.Name) and (made := list(assigned(nodes, one.id)))
        }
        names = {name: evaluated(maker, module, run) for name, maker in makers.items()}
        made_here = evaluated(node, module, run, names)
        if isinstance(made_here, Instance):
            return made_here
    return None


@remembered
def _makings(index: Index) -> Mapping[Class, Sequence[tuple[Module, ast.Call]]]:
    """Every call of a class of the program, in the order of the files."""
    found: dict[Class, list[tuple[Module, ast.Call]]] = {}
    for module in index.modules.values():
        for node in all_nodes(module.source.tree, ast.Call):
            made = index.resolve(module, dotted(node.func) or "")
            if isinstance(made, Class):
                found.setdefault(made, []).append((module, node))
    return found


# What a framework calls


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A method that a framework calls while it trains, and its object if it was seen to be made."""

    function: Function
    bound: Value | None = None
    certain: bool = True


def called_by_framework(index: Index, run: Execution) -> Iterator[Called]:
    """The hooks of the program and the networks that its trainers get; else all that can be such networks."""
    found = [*_hooks(index), *_handed_over(index, run)]
    yield from found
    if not found:
        yield from _outermost(index)


def _hooks(index: Index) -> Iterator[Called]:
    for cls in index.classes:
        bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
        if not bases & {"LightningModule", *TRAINERS}:
            continue
        method = index.method(cls, "training_step" if "LightningModule" in bases else "compute_loss")
        if method is not None:
            yield Called(method)


def _handed_over(index: Index, run: Execution) -> Iterator[Called]:
    """The forward passes of the repository's networks that `Trainer(model=...)` and its likes get."""
    for network in networks_handed_over(index, run):
        forward = index.method(network.cls, "forward") if isinstance(network, Instance) else None
        if forward is not None:
            yield Called(forward, network)


def networks_handed_over(index: Index, run: Execution) -> Iterator[Value]:
    """What trainers are given to train: networks of the repository, and those of torch's parts."""
    for module in index.modules.values():
        text = module.source.text
        if "Trainer" not in text and "Runner" not in text and "initialize" not in text:
            continue
        nodes = list(all_nodes(module.source.tree))
        for node in nodes:
            if not isinstance(node, ast.Call) or not _trains(node):
                continue
            words = {word.arg: word.value for word in node.keywords}
            given = words.get("model", node.args[0] if node.args else None)
            made = [given, *(assigned(nodes, given.id) if isinstance(given, ast.Name) else ())]
            for call in (one for one in made if isinstance(one, ast.Call)):
                yield evaluated(call, module, run)


def _trains(call: ast.Call) -> bool:
    full = dotted(call.func) or ""
    return full.endswith(("Trainer", "Runner")) or full == "deepspeed.initialize"


def assigned(nodes: Sequence[ast.AST], name: str) -> Iterator[ast.expr]:
    """What a name is assigned, one after the other."""
    for node in nodes:
        if isinstance(node, ast.Assign) and any(dotted(target) == name for target in node.targets):
            yield node.value


def _outermost(index: Index) -> Iterator[Called]:
    """The networks that no other class mentions."""
    mentioned: dict[str, set[Class]] = {}
    for cls in index.classes:
        for node in all_nodes(cls.node):
            if isinstance(node, ast.Name):
                mentioned.setdefault(node.id, set()).add(cls)
    for cls in index.classes:
        bases = index.outside_bases(cls)
        if not any(base.endswith(NETWORKS) for base in bases) or mentioned.get(cls.name, set()) - {cls}:
            continue
        forward = index.method(cls, "forward")
        if forward is not None:
            yield Called(forward, certain=False)


def within(precision: FrameworkPrecision, called: Called | None) -> Autocast:
    """The region around what a framework calls."""
    return precision.region if called is None or called.certain else replace(precision.region, known=False)
