"""Backward passes that go past the engine which scales the loss, and losses that are divided twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.loop.fractions_for_steps import number_told
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.framework_precision import known_value, told_precision
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Constant, Site

# What makes an engine, and what tells it its precision.
ENGINES = {"Fabric": "precision", "Accelerator": "mixed_precision"}
SCALING = frozenset({"16-mixed", "16", "fp16"})
HANDING = frozenset({"setup", "prepare", "setup_optimizers", "setup_module"})
# What divides every loss by the number of batches of an update, by what it is told that number.
DIVIDING = {"Accelerator": "gradient_accumulation_steps", "Trainer": "accumulate_grad_batches"}
DEEPSPEED = "deepspeed.initialize"  # it reads the number in its file, and divides in `engine.backward`
# What Lightning's Trainer refuses where a module optimizes by hand, and above which value.
REFUSED = {"gradient_clip_val": 0, "accumulate_grad_batches": 1}
DEPTH = 6


@dataclass(frozen=True, slots=True, eq=False)
class PassedBy:
    """A backward pass, and the engine that it goes past."""

    backward: Spot
    engine: Spot


def passed_by(index: Index, settings: SettingsTree) -> Iterator[PassedBy]:
    """Backward passes of losses in programs whose engine scales in float16 and is never asked for one."""
    code = mentions(index)
    yield from _past_lightning(index, settings)
    engine = next(_scaling_engines(code, settings), None)
    if engine is None or not any(code.calls.get(name) for name in HANDING):
        return
    passes = [spot for spot in code.calls.get("backward", ()) if not is_test(spot.source)]
    if all(_is_plain(spot) for spot in passes) and not code.calls.get("manual_backward"):
        yield from (PassedBy(spot, engine) for spot in passes)


def _past_lightning(index: Index, settings: SettingsTree) -> Iterator[PassedBy]:
    """`loss.backward()` in modules that optimize by hand, where the Trainer scales losses in float16."""
    by_hand = [cls for cls in index.classes if _is_by_hand(index, cls)]
    told = told_precision(index, settings) if by_hand else None
    if told is None or told.weights is not None or told.site is None:
        return
    if not told.region.only(DType.FLOAT16) or not isinstance(told.site.node, ast.expr):
        return
    engine = Spot(told.site.node, told.site.source)
    for cls in by_hand:
        for method in cls.methods.values():
            for call in own_nodes(method.node, ast.Call):
                spot = Spot(call, method.source)
                is_backward = isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
                if is_backward and _is_plain(spot):
                    yield PassedBy(spot, engine)


def by_hand_under_options(index: Index, settings: SettingsTree) -> Iterator[tuple[str, Spot, Function]]:
    """Options of Lightning's Trainer that it refuses for the modules of a program, which optimize by hand."""
    modules = [cls for cls in index.classes if _is_lightning(index, cls) and "training_step" in cls.methods]
    if not modules or not all(_is_by_hand(index, cls) for cls in modules):
        return
    code = mentions(index)
    for spot in code.calls.get("Trainer", ()):
        module = index.module_of(spot.source)
        words = spot.node.keywords if isinstance(spot.node, ast.Call) and not is_test(spot.source) else []
        for word in words:
            if word.arg not in REFUSED:
                continue
            told = number_told(word.value, code, settings, DEPTH)
            if told is not None and told > REFUSED[word.arg] and "lightning" in str(module.imports):
                yield word.arg, Spot(word.value, spot.source), modules[0].methods["training_step"]


def by_hand_without_leave(index: Index) -> Iterator[Spot]:
    """`self.manual_backward(loss)` in modules that never say that they optimize by hand."""
    for cls in index.classes:
        family = (*index.lineage(cls), *(one for one in index.classes if cls in index.lineage(one)))
        if not _is_lightning(index, cls) or is_test(cls.source):
            continue
        if any("automatic_optimization" in ast.unparse(one.node) for one in family):
            continue
        for method in cls.methods.values():
            for call in own_nodes(method.node, ast.Call):
                if dotted(call.func) == "self.manual_backward":
                    yield Spot(call, method.source)
                    return


def _is_lightning(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2] == "LightningModule" for base in index.outside_bases(cls))


def _is_by_hand(index: Index, cls: Class) -> bool:
    """Whether a Lightning module says `self.automatic_optimization = False`."""
    return _is_lightning(index, cls) and any(
        dotted(target) == "self.automatic_optimization"
        and isinstance(node.value, ast.Constant)
        and node.value.value is False
        for method in cls.methods.values()
        for node in own_nodes(method.node, ast.Assign)
        for target in node.targets
    )


def _scaling_engines(code: Mentions, settings: SettingsTree) -> Iterator[Spot]:
    run = Execution(code.index, settings, 0)
    for name, option in ENGINES.items():
        for spot in code.calls.get(name, ()):
            words = spot.node.keywords if isinstance(spot.node, ast.Call) else []
            given = next((word.value for word in words if word.arg == option), None)
            module = code.index.module_of(spot.source)
            told = known_value(given, module, settings, run) if given is not None else None
            if isinstance(told, Constant) and str(told.value) in SCALING and not is_test(spot.source):
                yield spot


def _is_plain(spot: Spot) -> bool:
    """`loss.backward()`: neither told a loss, nor of a scaler or an engine."""
    node = spot.node
    return isinstance(node, ast.Call) and not node.args and "scale" not in ast.unparse(node.func)


@dataclass(frozen=True, slots=True, eq=False)
class DividedTwice:
    """Where a loss is divided by the batches of an update, and what divides it by them anyway."""

    divided: Site
    engine: Spot


def divided_twice(index: Index, settings: SettingsTree) -> Iterator[DividedTwice]:
    """Losses that are divided by what their engine divides by."""
    code = mentions(index)
    engines = list(_dividing_engines(code))
    if not engines:
        return
    seen: set[int] = set()
    for one in minimised(index, settings):
        sink = one.sink.site.node
        engine = next((made for made, owner in engines if _goes_through(sink, made, owner, code)), None)
        one.run.steps = max(one.run.steps, STEPS // 4)
        try:
            value = quietly(one.run, one.sink.value) if engine is not None else None
        except (Exhausted, RecursionError):
            continue
        if engine is None or not isinstance(value, Applied) or id(value.site.node) in seen:
            continue
        told = {_text(made, DIVIDING.get(owner, "")) for made, owner in engines} - {""}
        match value.site.node:
            case ast.BinOp(op=ast.Div(), right=right) if value.callee == "/" and _is_same(right, told):
                seen.add(id(value.site.node))
                yield DividedTwice(value.site, engine)


def _dividing_engines(code: Mentions) -> Iterator[tuple[Spot, str]]:
    for name, option in DIVIDING.items():
        for spot in code.calls.get(name, ()):
            text = _text(spot, option)
            if text not in {"", "1", "None"} and "deepspeed" not in ast.unparse(spot.node):
                yield spot, name
    for spot in code.calls.get("initialize", ()):
        if isinstance(spot.node, ast.Call) and dotted(spot.node.func) == DEEPSPEED:
            yield spot, DEEPSPEED


def _text(spot: Spot, option: str) -> str:
    words = spot.node.keywords if isinstance(spot.node, ast.Call) else []
    return next((ast.unparse(word.value) for word in words if word.arg == option), "")


def _goes_through(sink: ast.AST, engine: Spot, owner: str, code: Mentions) -> bool:
    """Whether a loss is handed to the engine: `accelerator.backward(loss)`, or returned from a step."""
    if owner == "Trainer":
        return isinstance(sink, ast.Return | ast.FunctionDef)
    if not isinstance(sink, ast.Call) or not sink.args or not isinstance(sink.func, ast.Attribute):
        return False
    holder = (dotted(sink.func.value) or "").rpartition(".")[2]
    if owner == DEEPSPEED:
        is_divided = not any(word.arg == "scale_wrt_gas" for word in sink.keywords)
        return sink.func.attr == "backward" and is_divided and holder in _first_names(engine, code)
    return any(spot.node is engine.node for spot in code.given.get(holder, ()))


def _first_names(engine: Spot, code: Mentions) -> set[str]:
    """What the first of several results is called: `engine, optimizer, _, _ = deepspeed.initialize(...)`."""
    match code.parents.get(id(engine.node)):
        case ast.Assign(targets=[ast.Tuple(elts=[first, *_])]):
            return {(dotted(first) or "").rpartition(".")[2]} - {""}
    return set()


def _is_same(divisor: ast.expr, told: set[str]) -> bool:
    """Whether a loss is divided by the very number that the engine was told, or by the engine's own."""
    text = ast.unparse(divisor).removeprefix("self.")
    is_told = text in {one.removeprefix("self.") for one in told} and not text.isdigit()
    return is_told or text.removesuffix("()").endswith(tuple(f".{name}" for name in DIVIDING.values()))
