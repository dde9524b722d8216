"""Whether the framework that trains scales the loss by itself: those that train in float16 do.

Lightning does so for `Trainer(precision="16-mixed")`, Hugging Face for `TrainingArguments(fp16=True)`,
accelerate and Fabric for the precision they were made with. Told nothing, Lightning, Hugging Face and Fabric
train in float32, and a region of float16 that the program opens itself is left without a scale; accelerate
asks its launcher. Ignite's trainers open a region if told `amp_mode="amp"`, and scale only if told that too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import External, Index, Module, dotted
from stethoscope.program.precision.autocast import PRECISIONS, DType, engine_precision
from stethoscope.program.precision.framework_precision import known_value
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Part, Site, Value

LIGHTNING = ("lightning", "pytorch_lightning")
IGNITE = frozenset({"create_supervised_trainer", "supervised_training_step_amp"})


@remembered
def hook_scales(index: Index, settings: SettingsTree) -> dict[str, bool | None]:
    """Whether the loss that a hook gives is scaled by the framework; None where that cannot be told."""
    run = Execution(index, settings, 0)
    found: dict[str, list[bool | None]] = {}
    for call, module, hook in _makers(index):
        found.setdefault(hook, []).append(_told(call, module, settings, run, hook))
    return {hook: None if None in answers else any(answers) for hook, answers in found.items()}


def _makers(index: Index) -> Iterator[tuple[ast.Call, Module, str]]:
    """The calls that tell a framework its precision, with the hook that it calls."""
    for module in index.modules.values():
        if "Trainer(" not in module.source.text and "TrainingArguments(" not in module.source.text:
            continue
        for node in all_nodes(module.source.tree):
            if not isinstance(node, ast.Call):
                continue
            name = outside_name(index, module, node)
            if name.startswith(LIGHTNING) and name.endswith(".Trainer"):
                yield node, module, "training_step"
            elif name.endswith("TrainingArguments"):
                yield node, module, "compute_loss"


def _told(call: ast.Call, module: Module, settings: SettingsTree, run: Execution, hook: str) -> bool | None:
    words = {word.arg: word.value for word in call.keywords}
    if None in words or "plugins" in words or "strategy" in words:
        return None
    given = words.get("precision" if hook == "training_step" else "fp16")
    if given is None:
        return False
    value = known_value(given, module, settings, run)
    if not isinstance(value, Constant):
        return None
    if hook == "compute_loss":
        return value.value is True
    known = PRECISIONS.get(str(value.value).lower())
    return known == (DType.FLOAT16, False) if known is not None else None


def engine_scales(index: Index, settings: SettingsTree, engine: Value | None) -> bool | None:
    """Whether accelerate or Fabric scales, by the precision it was made with; None where none is known."""
    precision = engine_precision(stated(index, settings, engine))
    while isinstance(engine, Part):
        engine = engine.base
    if not isinstance(precision, Constant) or not isinstance(engine, Applied):
        return None
    if engine.callee.endswith("Accelerator") and "mixed_precision" not in engine.keywords:
        return None  # the launcher decides
    known = PRECISIONS.get(str(precision.value).lower())
    return known == (DType.FLOAT16, False) if known is not None else None


def unscaled_trainers(index: Index) -> Iterator[Site]:
    """The trainers of ignite that train in float16 without a scaler."""
    for module in index.modules.values():
        if "ignite" not in module.source.text:
            continue
        for node in all_nodes(module.source.tree):
            if isinstance(node, ast.Call) and _is_unscaled(node, outside_name(index, module, node)):
                yield Site(module.source, node)


def _is_unscaled(call: ast.Call, name: str) -> bool:
    last = name.rpartition(".")[2]
    if not name.startswith("ignite") or last not in IGNITE:
        return False
    words = {word.arg: word.value for word in call.keywords}
    mode, scaler = words.get("amp_mode"), words.get("scaler")
    casts = last.endswith("_amp") or (isinstance(mode, ast.Constant) and mode.value == "amp")
    is_off = scaler is None or (isinstance(scaler, ast.Constant) and not scaler.value)
    return casts and is_off and None not in words


def outside_name(index: Index, module: Module, call: ast.Call) -> str:
    """The full name of what a call outside makes, "" for the repository's own."""
    target = index.resolve(module, dotted(call.func) or "")
    return target.name if isinstance(target, External) else ""
