"""What the interpreter works with beside numbers, texts, lists and numpy arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stethoscope.program.index import Class, Function, Module
from stethoscope.run import Source

Array = np.ndarray[Any, Any]

# What is done to a network or its weights that changes nothing an experiment asks for.
IDLE = frozenset({
    "to", "cuda", "cpu", "half", "float", "double", "train", "eval", "requires_grad_", "apply",
    "register_forward_hook",
    "share_memory", "compile", "bfloat16", "type", "gradient_checkpointing_enable", "flatten_parameters",
    "reset_parameters", "init_weights", "_init_weights", "initialize_weights", "_reset_parameters",
    "post_init",
})  # fmt: skip


OWN_LAYER = "<layer>"  # where an object of a class that is a layer of torch keeps that layer


class Invented(int):
    """A size that is not known, and that any number may stand for; no decision may depend on it."""


class Weight(np.ndarray[Any, Any]):
    """A learned tensor: drawn at random, whatever the program fills it with before training."""


@dataclass(eq=False, slots=True)
class Object:
    """An object of a class of the program."""

    cls: Class
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Routine:
    """A function, method or lambda of the program with the names around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    bound: Any = None
    around: Mapping[str, Any] = field(default_factory=dict)
    owner: Class | None = None
    function: Function | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Foreign:
    """A name of a library: `torch.nn.Linear`, `math.pi`."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Ancestors:
    """super() inside a method of `cls`."""

    of: Object
    cls: Class


@dataclass(frozen=True, eq=False, slots=True)
class Method:
    """A method of a tensor, layer or container, bound to it."""

    of: Any
    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Partial:
    """functools.partial."""

    of: Any
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """Something that another walk holds: a configuration, with the way to its attributes and items."""

    attribute: Callable[[str], Any]
    item: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the source."""

    source: Source
    node: ast.AST


class Finfo:
    """What torch.finfo gives."""
