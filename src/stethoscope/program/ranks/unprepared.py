"""Networks that Accelerate never sees, while their optimizer is prepared by it.

optimizer, loader = accelerator.prepare(optimizer, loader)      and `model` stays as it is on each process
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

PREPARING = frozenset({"prepare", "prepare_model", "setup", "setup_module"})
WRAPPING = ("DistributedDataParallel", "DDP(", "FSDP", "fully_shard", "all_reduce", "deepspeed", "DeepSpeed")


@dataclass(frozen=True, slots=True, eq=False)
class Unprepared:
    """Where the optimizer is prepared, and the name of the network that is not."""

    prepared: Site
    network: str


@remembered
def unprepared(index: Index) -> tuple[Unprepared, ...]:
    """Every network that is trained under Accelerate and handed to none of its calls."""
    texts = [module.source.text for module in index.modules.values() if not is_test(module.source)]
    if not any("Accelerator(" in text for text in texts) or any(
        one in text for text in texts for one in WRAPPING
    ):
        return ()
    calls = [
        call
        for module in index.modules.values()
        for call in all_nodes(module.source.tree, ast.Call)
        if bare_name(call) in PREPARING and isinstance(call.func, ast.Attribute)
    ]
    if any(
        isinstance(one, ast.Starred) or word.arg is None
        for call in calls
        for one in call.args
        for word in call.keywords
    ):
        return ()
    given = {dotted(one) or ast.unparse(one) for call in calls for one in call.args}
    return tuple(found for function in index.bodies for found in _in_function(function, calls, given))


def _in_function(function: Function, calls: list[ast.Call], given: set[str]) -> Iterator[Unprepared]:
    prepares = [call for call in own_nodes(function.node, ast.Call) if call in calls]
    trained = _trained(function)
    for call in prepares:
        names = [dotted(one) or "" for one in call.args]
        if any(isinstance(one, ast.Starred) for one in call.args) or not all(names):
            return
        for optimizer, network in trained.items():
            if optimizer in names and network not in given and not _has_network(names):
                yield Unprepared(Site(function.source, call), network)
                return


def _trained(function: Function) -> dict[str, str]:
    """The optimizers of a function by name, each with the network whose parameters it gets."""
    found: dict[str, str] = {}
    for node in own_nodes(function.node, ast.Assign):
        name = dotted(node.targets[0])
        for call in all_nodes(node.value, ast.Call):
            if bare_name(call) == "parameters" and isinstance(call.func, ast.Attribute):
                network = dotted(call.func.value)
                if (
                    name
                    and network
                    and (_is_optimizer(node.value) or "optim" in name.lower() or name == "opt")
                ):
                    found[name] = network
    return found


def _is_optimizer(made: ast.expr) -> bool:
    return isinstance(made, ast.Call) and bare_name(made) in OPTIMIZER_CLASSES


def _has_network(names: list[str]) -> bool:
    spoken = {word for name in names for word in words(name)}
    return bool(spoken & {"model", "net", "network", "module", "unet", "encoder", "transformer"})
