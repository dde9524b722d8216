"""Losses that are divided by the number of processes before a wrapper averages their gradients anyway."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Constant, Delayed, Leaf, Part, Site, Value

AVERAGING = ("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard")
OTHERWISE = (
    "register_comm_hook",
    "no_sync_average",
    "set_gradient_divide_factor",
    "gradient_predivide_factor",
)
WORLD = frozenset(
    {"world_size", "world", "num_gpus", "n_gpus", "ngpus", "nprocs", "num_processes", "WORLD_SIZE"}
)
DEPTH = 12


@dataclass(frozen=True, slots=True, eq=False)
class TwiceAveraged:
    """Where a loss is divided by the number of processes, and where its network is wrapped."""

    divided: Site
    wrapped: Spot


def twice_averaged(index: Index, settings: SettingsTree) -> Iterator[TwiceAveraged]:
    """The losses of wrapped networks that are divided by the number of processes."""
    code = mentions(index)
    wrapped = next(_wrapped(code), None)
    if wrapped is None or any(code.calls.get(name) or code.attributes.get(name) for name in OTHERWISE):
        return
    seen: set[int] = set()
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 4)
        try:
            divided = _divided(one.run, one.sink.value)
        except (Exhausted, RecursionError):
            continue
        if divided is not None and id(divided.site.node) not in seen:
            seen.add(id(divided.site.node))
            yield TwiceAveraged(divided.site, wrapped)


def _wrapped(code: Mentions) -> Iterator[Spot]:
    for name in AVERAGING:
        yield from (spot for spot in code.calls.get(name, ()) if not is_test(spot.source))


def _divided(run: Execution, value: Value) -> Applied | None:
    """The division by the number of processes on the way to a loss, unless something multiplies it again."""
    found: Applied | None = None
    for _ in range(DEPTH):
        value = run.expand(value) if isinstance(value, Delayed) else quietly(run, value)
        if not isinstance(value, Applied) or value.callee not in {"/", "*", ".div", ".mul"}:
            break
        if len(value.args) != 2:
            break
        inner, scale = value.args
        if value.callee in {"*", ".mul"} and (_is_world(inner) or _is_world(scale)):
            return None
        if value.callee in {"/", ".div"} and _is_world(scale):
            found = value
        elif not isinstance(scale, Constant | Leaf | Part):
            inner = scale if value.callee == "*" and isinstance(inner, Constant) else inner
        value = inner
    if found is None or any(_is_sum(one) for one in applied_in(run, found)):
        return None
    return found


def _is_sum(call: Applied) -> bool:
    """A sum is not yet a mean: dividing it by all processes may be what makes it one."""
    told = call.keywords.get("reduction") or (call.maker.keywords.get("reduction") if call.maker else None)
    is_summed = isinstance(told, Constant) and told.value in {"sum", "none"}
    last = call.callee.rpartition(".")[2]
    return is_summed or last in {"sum", "all_reduce", "all_gather", "reduce"}


def _is_world(value: Value) -> bool:
    match value:
        case Applied(callee=callee) if callee.rpartition(".")[2] == "get_world_size":
            return True
        case Applied(callee="int" | "float", args=[inner]):
            return _is_world(inner)
        case Applied(callee="os.getenv" | "os.environ.get" | ".get" | "[]", args=args):
            return any(isinstance(arg, Constant) and arg.value == "WORLD_SIZE" for arg in args)
        case Leaf(name=name):
            return name in WORLD
        case Part(key=str() as key):
            return key in WORLD
    return False
