"""The methods that a call may lead to by its name alone, where nothing is known of the object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from stethoscope.program.index import Function, Index
from stethoscope.program.precision.autocast_lists import LOWER, SINGLE
from stethoscope.program.precision.tensor_types import COMBINING, COUNTING, SAME
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.tensor_operations import METHODS

MOST_OWNERS = 3  # classes with a method of one name: with more it says nothing
# fmt: off
# What tensors, modules, optimizers and containers of others have as well.
COMMON = frozenset({
    "forward", "step", "update", "get", "items", "keys", "values", "append", "extend", "pop", "add", "reset",
    "train", "eval", "parameters", "named_parameters", "modules", "children", "state_dict", "load_state_dict",
    "backward", "zero_grad", "apply", "log", "log_dict", "print", "write", "close", "save", "load", "setup",
    "encode", "decode", "sample", "predict", "fit", "run", "call", "build", "copy", "clear",
    "scale", "unscale_", "no_sync", "prepare", "autocast", "register", "format", "join", "split", "insert",
})
# fmt: on


def methods_named(index: Index, name: str, given: int) -> tuple[Function, ...]:
    """The few methods of the repository that take so many arguments under this name."""
    if (
        name.startswith("_")
        or name in COMMON | LOWER | SINGLE | SAME | COMBINING | COUNTING
        or name in METHODS
    ):
        return ()
    found = _by_name(index).get(name, ())
    return tuple(one for one in found if _takes(one, given)) if len(found) <= MOST_OWNERS else ()


@remembered
def _by_name(index: Index) -> dict[str, tuple[Function, ...]]:
    found: dict[str, list[Function]] = {}
    for method in _methods(index):
        found.setdefault(method.name, []).append(method)
    return {name: tuple(islice(methods, MOST_OWNERS + 1)) for name, methods in found.items()}


def _methods(index: Index) -> Iterator[Function]:
    for cls in index.classes:
        if not is_test(cls.source):
            yield from cls.methods.values()


def _takes(method: Function, given: int) -> bool:
    spec = method.node.args
    positional = len(spec.posonlyargs) + len(spec.args) - ("staticmethod" not in method.decorators)
    return spec.vararg is not None or given <= positional
