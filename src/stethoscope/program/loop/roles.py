"""What part an object plays in training: optimizer, scaler, scheduler, network, average, loader.

An object is known by how it was made; where that was not seen, by the name it goes by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from stethoscope.program.index import Class, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk import calls
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import callable_name
from stethoscope.program.walk.taken_from_wrappers import taken_from
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Table,
    Value,
)


class Role(StrEnum):
    """The parts that objects play."""

    OPTIMIZER = "optimizer"
    SCALER = "gradient scaler"
    SCHEDULER = "learning-rate scheduler"
    AVERAGE = "average of the weights"
    MODEL = "network"
    LOADER = "data loader"
    ENGINE = "engine"  # accelerate, fabric, deepspeed: does several of these at once


DEPTH = 6  # values looked through before a role is given up

# fmt: off
OPTIMIZER_CLASSES = frozenset({
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "NAdam", "RAdam",
    "RMSprop", "Rprop", "SGD", "SparseAdam", "Muon", "Lion", "Lamb", "LAMB", "FusedAdam", "FusedLAMB",
    "FusedSGD", "AdamW8bit", "Adam8bit", "PagedAdamW8bit", "DeepSpeedCPUAdam", "AdaBelief", "Ranger",
    "Sophia", "SophiaG", "Prodigy", "DAdaptAdam", "Shampoo", "SOAP", "ScheduleFree", "AdamWScheduleFree",
    "SGDScheduleFree",
    "Optimizer", "ZeroRedundancyOptimizer", "Adan", "AdaBound", "Yogi", "NovoGrad", "LARS", "LARC",
})
ENGINE_CLASSES = frozenset({"Accelerator", "Fabric", "LightningLite"})
OPTIMIZER_WORDS = frozenset({"optimizer", "optimizers", "optimiser", "optim", "optims", "optimisers"})
SETTING_WORDS = frozenset({"level", "cfg", "config", "name", "type", "args", "kwargs", "options", "params"})
SCHEDULER_WORDS = frozenset({"scheduler", "schedulers", "sched", "lrscheduler", "schedule", "lrs"})
AVERAGE_WORDS = frozenset({"ema", "emas", "swa", "averaged"})
LOADER_WORDS = frozenset({"loader", "loaders", "dataloader", "dataloaders", "dl"})
NO_SCHEDULER_WORDS = frozenset({
    "noise", "diffusion", "ddpm", "ddim", "sampler", "mask", "loss", "curriculum",
})
ENGINE_WORDS = frozenset({"accelerator", "fabric", "engine", "accel"})
LIBRARY_NETWORKS = ("torchvision.models.", "timm.create_model", "timm.models.", "torch.hub.load")
MODEL_WORDS = frozenset({
    "model", "net", "network", "generator", "discriminator", "encoder", "decoder", "backbone", "unet",
    "module", "critic", "actor", "policy", "classifier", "netg", "netd", "student",
})
# fmt: on


def role_of(run: Execution, value: Value | None, depth: int = DEPTH) -> Role | None:
    """The part that a value plays, where it can be told."""
    if value is None or depth == 0:
        return None
    match value:
        case Instance(cls=cls):
            return class_role(run.index, cls)
        case Applied():
            return _role_of_call(run, value, depth)
        case Choice(options=options):
            return _shared(run, options, depth)
        case Items(items=items):
            return _shared(run, items, depth)
        case Table(entries=entries, rest=rest):
            return _shared(run, (*entries.values(), *rest), depth)
        case Delayed(callee=FunctionValue(function=function)):
            wrapped = taken_from(value)
            if wrapped is not None:
                return role_of(run, wrapped, depth - 1)
            return role_by_name(function.name) or _role_of_made(run, value, depth)
        case Part():
            return _role_of_part(run, value, depth)
        case Leaf(name=name):
            return role_by_name(name)
    return None


def _role_of_made(run: Execution, call: Delayed, depth: int) -> Role | None:
    """The part of what a function of the program makes and gives back: a chain of layers, an optimizer."""
    made = quietly(run, call)
    return role_of(run, made, depth - 1) if isinstance(made, Applied | Instance) else None


def role_by_name(name: str) -> Role | None:
    """The part that the name of a variable, attribute or factory speaks of."""
    parts = set(words(name))
    if parts & SCHEDULER_WORDS and not parts & NO_SCHEDULER_WORDS:
        return Role.SCHEDULER
    if parts & OPTIMIZER_WORDS or _is_short_for_optimizer(name, parts):
        return Role.OPTIMIZER
    if "scaler" in parts or "gradscaler" in parts:
        return Role.SCALER
    if parts & AVERAGE_WORDS:
        return Role.AVERAGE
    if parts & LOADER_WORDS:
        return Role.LOADER
    if parts & ENGINE_WORDS:
        return Role.ENGINE
    return Role.MODEL if parts & MODEL_WORDS else None


def _is_short_for_optimizer(name: str, parts: set[str]) -> bool:
    """`opt`, `opt_g`, `gen_opt`; `opt_level` and `opt_cfg` are settings."""
    is_short = name in {"opt", "opts"} or name.startswith("opt_") or name.endswith("_opt")
    return is_short and not parts & SETTING_WORDS


def derived_role(index: Index, cls: Class) -> Role | None:
    """The part of a class that is derived from one of torch's."""
    bases = [base.rpartition(".")[2] for base in index.outside_bases(cls)]
    if any(base in OPTIMIZER_CLASSES for base in bases):
        return Role.OPTIMIZER
    if any(base.endswith(("LRScheduler", "LR")) for base in bases):
        return Role.SCHEDULER
    return None


def class_role(index: Index, cls: Class) -> Role | None:
    """The part that objects of a class play, by what it is derived from, called, or does."""
    derived = derived_role(index, cls)
    if derived is not None:
        return derived
    bases = [base.rpartition(".")[2] for base in index.outside_bases(cls)]
    names = [ancestor.name for ancestor in index.lineage(cls)]
    if any({"ema", "swa"} & set(words(name)) or {"moving", "average"} <= set(words(name)) for name in names):
        return Role.AVERAGE
    if any(_averages(ancestor) for ancestor in index.lineage(cls)):
        return Role.AVERAGE
    if any("GradScaler" in name for name in (*bases, *names)):
        return Role.SCALER
    if "Module" in bases or "LightningModule" in bases or "PreTrainedModel" in bases:
        return Role.MODEL
    named = role_by_name(cls.name)
    return None if named is Role.MODEL else named


@lru_cache(maxsize=4096)
def _averages(cls: Class) -> bool:
    """Whether objects of a class keep a copy of weights and draw it after them: `s.lerp_(p, 1 - decay)`."""
    init = cls.methods.get("__init__")
    if init is None or {"zero_grad", "step", "forward"} & cls.methods.keys():
        return False
    if not {"clone", "deepcopy"} & set(_called(init.node)):
        return False
    if any("backward" in _called(method.node) for method in cls.methods.values()):
        return False  # a trainer that keeps an average of its network
    return any(
        isinstance(node, ast.For) and _draws_after(node)
        for name, method in cls.methods.items()
        if name != "__init__"
        for node in all_nodes(method.node)
    )


def _draws_after(loop: ast.For) -> bool:
    over = {"zip", "parameters", "named_parameters", "state_dict"}
    if not over & set(_called(loop.iter)):
        return False
    named = (getattr(node, "id", None) or getattr(node, "attr", None) for node in all_nodes(loop))
    spoken = {word for name in named if name is not None for word in words(name)}
    is_mixed = bool({"lerp_", "mul_", "sub_", "lerp"} & set(_called(loop))) or any(
        map(_is_rest_of_one, all_nodes(loop))
    )
    is_named = bool({"decay", "momentum", "beta", "tau", "alpha", "rate"} & spoken)
    return is_mixed and (is_named or _splits_one(loop))


def _splits_one(loop: ast.For) -> bool:
    """`s.mul_(k).add_(p, alpha=1 - k)`, `s.lerp_(p, 1 - k)`: what is kept and what is taken make a whole."""
    kept: set[str] = set()
    for node in all_nodes(loop, ast.Call):
        name = getattr(node.func, "attr", "")
        if name == "lerp_" and len(node.args) == 2 and _is_rest_of_one(node.args[1]):
            return True
        kept |= {ast.unparse(node.args[0])} if name == "mul_" and node.args else set()
    return any(
        ast.unparse(node.right) in kept for node in all_nodes(loop, ast.BinOp) if _is_rest_of_one(node)
    )


def _is_rest_of_one(node: ast.AST) -> bool:
    """`1 - decay`."""
    is_difference = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    return is_difference and getattr(getattr(node, "left", None), "value", None) in (1, 1.0)


def _called(node: ast.AST) -> Iterator[str]:
    for inner in all_nodes(node):
        if isinstance(inner, ast.Call):
            yield str(getattr(inner.func, "attr", None) or getattr(inner.func, "id", ""))


def _role_of_call(run: Execution, value: Applied, depth: int) -> Role | None:
    if value.callee == "()":
        made_by = value.args[0]
        if isinstance(made_by, ClassValue):
            return class_role(run.index, made_by.cls)
        return role_by_name(callable_name(made_by))
    if value.callee in {".prepare", ".setup", ".setup_optimizers", ".setup_dataloaders", ".setup_module"}:
        return _shared(run, value.args[1:], depth)
    if value.callee in {".to", ".cuda", ".cpu", ".train", ".eval", ".half", ".bfloat16", ".float"}:
        return role_of(run, value.args[0], depth - 1)
    if value.callee == "copy.deepcopy":
        return role_of(run, value.args[0], depth - 1)
    if value.callee in {"+", "|"}:
        return _shared(run, value.args, depth)
    if value.callee.startswith("."):
        return role_by_name(value.callee[1:])
    return _role_of_outside(value.callee)


def _role_of_outside(name: str) -> Role | None:
    """The part of what an outside function or class makes, by its full name."""
    home, _, last = name.removesuffix("()").rpartition(".")
    if last in ENGINE_CLASSES:
        return Role.ENGINE
    if "swa_utils" in home:
        return {"AveragedModel": Role.AVERAGE, "SWALR": Role.SCHEDULER}.get(last)
    if last in OPTIMIZER_CLASSES or (
        ".optim" in f".{home}"
        and (last[:1].isupper() or last == calls.UNKNOWN_NAME)
        and "lr_scheduler" not in home
    ):
        return Role.OPTIMIZER
    if "lr_scheduler" in home or last.endswith("LRScheduler"):
        return Role.SCHEDULER
    if "diffusers" in home:
        return None  # its schedulers are of noise; those of the learning rate come from get_scheduler
    if "GradScaler" in last or last in {"NativeScaler", "ApexScaler"}:
        return Role.SCALER
    if last in {
        "EMA",
        "ModelEma",
        "ModelEmaV2",
        "ModelEmaV3",
        "AveragedModel",
        "ExponentialMovingAverage",
        "EMAModel",
    }:
        return Role.AVERAGE
    if last in {"DataLoader", "StatefulDataLoader", "WebLoader"}:
        return Role.LOADER
    if last == "initialize" and "deepspeed" in home:
        return Role.ENGINE
    if home.startswith("torch.nn") and last[:1].isupper() and not last.endswith("Loss"):
        return Role.MODEL
    if name.startswith(LIBRARY_NETWORKS) and not last.endswith("Weights"):
        return Role.MODEL
    return role_by_name(last) if not last[:1].isupper() else None


def _role_of_part(run: Execution, value: Part, depth: int) -> Role | None:
    base = value.base
    if isinstance(value.key, int) and isinstance(base, Applied):
        if base.callee in {".prepare", ".setup"} and value.key + 1 < len(base.args):
            return role_of(run, base.args[value.key + 1], depth - 1)
        if base.callee.endswith("deepspeed.initialize"):
            return (Role.ENGINE, Role.OPTIMIZER, Role.LOADER, Role.SCHEDULER)[value.key % 4]
    if isinstance(value.key, str) and value.key != "*":
        return role_by_name(value.key)
    return role_of(run, base, depth - 1) if not isinstance(base, Outside) else None


def _shared(run: Execution, values: Sequence[Value], depth: int) -> Role | None:
    """The one part that all values of known part play."""
    known = {role for value in values if (role := role_of(run, value, depth - 1)) is not None}
    return known.pop() if len(known) == 1 else None
