"""The attributes of tensors, layers, objects, classes and names of libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments.invented import invented
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.running import Frame
from stethoscope.program.experiments.things import (
    IDLE,
    OWN_LAYER,
    Ancestors,
    Array,
    Finfo,
    Foreign,
    Held,
    Invented,
    Method,
    Object,
)
from stethoscope.program.index import Class, Module
from stethoscope.program.walk.bounded_arrays import CannotCompute

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

LAYER_ATTRIBUTES = frozenset({"weight", "bias"})


def attribute(run: Interpreter, base: Any, name: str) -> Any:
    """`base.name`."""
    match base:
        case np.ndarray():
            return _tensor_attribute(run, base, name)
        case Object():
            return _object_attribute(run, base, name)
        case Ancestors(of=of, cls=cls):
            for ancestor in run.index.lineage(of.cls)[_place(run, of.cls, cls) + 1 :]:
                if name in ancestor.methods:
                    return run.bound(ancestor.methods[name], of)
            if name == "__init__" and run.is_chain(of):
                return Method(of, "<chain>")
            if name == "forward" and OWN_LAYER in of.attributes:
                return of.attributes[OWN_LAYER]
            return Method(base, name)
        case Layer():
            if name in {"weight", "bias"} and name in base.weights:
                return base.weights[name]  # `bias=True` is what it was made with
            if name in base.given:
                return base.given[name]
            if name == "__class__":
                return Foreign(base.kind)
            if run.as_written and name in {"weight", "bias"} and name not in base.weights:
                raise CannotCompute(name)
            if name in {"weight", "bias"}:
                return base.weights.get(name)
            return Method(base, name)
        case Foreign(name=full) if name == "__name__":
            return full.rpartition(".")[2]
        case Foreign(name=full):
            if full == "math" and isinstance(getattr(math, name, None), float):
                return getattr(math, name)
            if full in {"torch", "numpy"} and name in {"pi", "inf", "newaxis"}:
                return {"pi": math.pi, "inf": math.inf, "newaxis": None}[name]
            return Foreign(f"{full}.{name}")
        case Module():
            return run.global_value(name, base)
        case Class():
            return _class_attribute(run, base, name, base)
        case Held():
            return run.sized(base.attribute(name))
        case Invented() if not hasattr(int, name):
            return invented(name)  # settings that no walk could follow
        case Finfo() if name in {"min", "max", "eps", "tiny"}:
            return {"min": -1e30, "max": 1e30, "eps": 1e-7, "tiny": 1e-30}[name]
        case list() if name in {"in_features", "weight", "training"}:
            raise CannotCompute(name)
        case list() | dict() | tuple() | str() | int() | float() | set():
            return Method(base, name)
    raise CannotCompute(name)


def _place(run: Interpreter, own: Class, cls: Class) -> int:
    lineage = run.index.lineage(own)
    return lineage.index(cls) if cls in lineage else 0


def _tensor_attribute(run: Interpreter, x: Array, name: str) -> Any:
    known: dict[str, Callable[[], Any]] = {
        "shape": lambda: tuple(int(s) for s in x.shape),
        "ndim": lambda: x.ndim,
        "data": lambda: x,
        "T": lambda: x.T,
        "mT": lambda: np.swapaxes(x, -1, -2),
        "mH": lambda: np.swapaxes(x, -1, -2),
        "real": lambda: x.real,
        "imag": lambda: x.imag,
        "device": lambda: "cpu",
        "dtype": lambda: Foreign("torch.float32"),
        "is_cuda": lambda: False,
        "requires_grad": lambda: True,
        "grad": lambda: None,
    }
    return known[name]() if name in known else Method(x, name)


def _object_attribute(run: Interpreter, base: Object, name: str) -> Any:
    if name in base.attributes:
        return base.attributes[name]
    if OWN_LAYER in base.attributes and name in LAYER_ATTRIBUTES | base.attributes[OWN_LAYER].given.keys():
        return attribute(run, base.attributes[OWN_LAYER], name)
    if name == "training":
        return False
    if name == "device":
        return "cpu"
    if name in IDLE and run.is_module(base) and not _is_own(run, base, name):
        return Method(base, name)
    try:
        return _class_attribute(run, base.cls, name, base)
    except KeyError:
        if run.is_module(base):
            return Method(base, name)
        raise CannotCompute(name) from None


def _is_own(run: Interpreter, base: Object, name: str) -> bool:
    """Whether a method that fills weights is the program's own, and is to be followed."""
    return run.as_written and run.index.method(base.cls, name) is not None


def _class_attribute(run: Interpreter, cls: Class, name: str, to: Any) -> Any:
    for ancestor in run.index.lineage(cls):
        if name in ancestor.methods:
            routine = run.bound(ancestor.methods[name], to)
            if "property" in ancestor.methods[name].decorators:
                return run.call(routine, (), {})
            return routine
        if name in ancestor.variables:
            home = run.index.module_of(ancestor.source)
            return run.value(ancestor.variables[name], Frame(home, {}, {}, ancestor))
    if isinstance(to, Class):
        raise CannotCompute(name)
    raise KeyError(name)
