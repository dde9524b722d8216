"""What the processes of a distributed training do together, and where they part.

A collective is a call that every rank must make: one that is missing leaves the others waiting. A condition
parts the ranks where it asks which rank this is, or asks about data that each rank has for itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.evaluation.choosing import training_outputs
from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import Function
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, full_name, receiver_role
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.ranks.rank_numbers import compares_with_rank
from stethoscope.program.ranks.signalled_names import signalled_names
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import MOST_VALUES, ancestry
from stethoscope.program.walk.events import Assignment, Call, Event, Jump, Scope
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Value,
    inputs,
)
from stethoscope.run import Source

# fmt: off
COLLECTIVES = frozenset({
    "all_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor", "broadcast", "reduce",
    "broadcast_object_list", "gather", "gather_object", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "barrier", "all_to_all", "all_to_all_single", "monitored_barrier", "scatter_object_list",
})
OF_ENGINES = frozenset({
    "wait_for_everyone", "gather", "gather_for_metrics", "reduce", "barrier", "all_reduce", "all_gather",
    "broadcast", "pad_across_processes",
})
CLOCKS = frozenset({
    "time.time", "time.monotonic", "time.perf_counter", "time.time_ns", "time.monotonic_ns",
    "datetime.datetime.now", "datetime.now",
})
# Names whose truth says that this is the first process.
FIRST = re.compile(
    r"^_*(?:is_)?(?:main|master|primary|chief|root|global_zero|world_process_zero|local_process_zero|rank_?zero|rank_?0"
    r"|rank0|first|logging|logger)(?:_?(?:process|rank|node|worker|proc))?(?:_only|_first)?$", re.IGNORECASE,
)
DISTRIBUTED = frozenset({
    "DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "init_process_group", "FSDP",
    "Accelerator",
})
TALKING = frozenset({"all_reduce", "all_gather", "broadcast", "barrier", "no_backward_sync"})
LAUNCHERS = frozenset({"Fabric", "LightningLite"})  # several processes, unless they are asked for one
# fmt: on


@dataclass(frozen=True, eq=False)
class Ranks:
    """A walk of a program that runs as several processes, with its collectives in order."""

    walk: Walk

    @cached_property
    def collectives(self) -> tuple[Call, ...]:
        """Every collective call; those that name a group of ranks are left out."""
        events = self.walk.trace.events
        return tuple(e for e in events if isinstance(e, Call) and is_collective(self.walk, e))

    @cached_property
    def shared(self) -> frozenset[int]:
        """The ids of all values that a collective got or gave: they are the same on all ranks."""
        found: set[int] = set()
        for call in self.collectives:
            for value in (*call.args, *call.keywords.values()):
                found.add(id(value))
                found |= {id(item) for item in value.items} if isinstance(value, Items) else set()
        return frozenset(found)

    @cached_property
    def collective_nodes(self) -> frozenset[int]:
        """The ids of the source of all collective calls, for what they give back."""
        return frozenset(id(call.site.node) for call in self.collectives)

    def is_shared(self, value: Value | None) -> bool:
        """Whether the ranks agreed on something that a value was made from."""
        return any(self.is_agreed(inner) for inner in ancestry(self.walk.trace.run, value))

    def is_agreed(self, value: Value) -> bool:
        """Whether the ranks agreed on this very value."""
        if id(value) in self.shared:
            return True
        return isinstance(value, Applied | Delayed) and id(value.site.node) in self.collective_nodes

    def parts(self, scope: Scope) -> bool:
        """Whether a condition asks for the rank."""
        return _asks(scope) is not None

    def conditions(self, event: Event) -> Iterator[tuple[Scope, bool]]:
        """The conditions around an event that ask for the rank, and whether the first rank meets them."""
        for scope in event.scopes():
            if scope.kind == "if":
                asks = _asks(scope)
                if asks is not None:
                    yield scope, asks is scope.arm
        yield from self._after_jumps(event)

    def _after_jumps(self, event: Event) -> Iterator[tuple[Scope, bool]]:
        """`if rank != 0: return` before an event in the same function or round."""
        enclosing = {id(scope) for scope in event.scopes()}
        for jump in self._rank_jumps:
            leaves = jump[0].leaves
            is_before = self.walk.place(jump[0]) < self.walk.place(event)
            is_left = leaves is not None and id(leaves) in enclosing and id(jump[1]) not in enclosing
            if is_before and is_left:
                yield jump[1], not jump[2]

    @cached_property
    def _rank_jumps(self) -> tuple[tuple[Jump, Scope, bool], ...]:
        found = []
        for event in self.walk.trace.events:
            if isinstance(event, Jump) and event.kind in {"return", "continue", "break"}:
                scope = next((s for s in event.scopes() if s.kind == "if"), None)
                asks = _asks(scope) if scope is not None else None
                if scope is not None and asks is not None:
                    found.append((event, scope, asks is scope.arm))
        return tuple(found)


def distributed(walks: tuple[Walk, ...]) -> Iterator[Ranks]:
    """The walks that run as several processes."""
    for walk in walks:
        calls = [event for event in walk.trace.events if isinstance(event, Call)]
        talks = any(call.name in TALKING for call in calls)
        if any(_makes_distributed(call, talks) for call in calls):
            yield Ranks(walk)


def _makes_distributed(call: Call, talks: bool) -> bool:
    """Whether a call makes a program one of several processes; `talks` says that it speaks to others."""
    name = full_name(call) or call.name
    last = name.rpartition(".")[2]
    if last in LAUNCHERS:
        devices = call.keywords.get("devices", call.keywords.get("accelerator"))
        if not (isinstance(devices, Constant) and devices.value in {1, "1", "cpu", "mps"}):
            return True
        return bool(devices.setting) and talks  # the settings may ask for more the next time
    if last == "init_process_group" and _is_one(call.keywords.get("world_size")):
        return False
    return last in DISTRIBUTED or name.endswith(("deepspeed.initialize", "horovod.torch.init"))


def _is_one(size: Value | None) -> bool:
    """Whether a group is written down to have one process, as some layers ask for where it runs alone."""
    return isinstance(size, Constant) and size.value == 1 and not size.setting


def is_collective(walk: Walk, call: Call) -> bool:
    """Whether every rank must make a call."""
    if "group" in call.keywords and not _is_none(call.keywords["group"]):
        return False
    name = full_name(call)
    if name:
        home, _, last = name.rpartition(".")
        is_torch = "distributed" in home or home in {"dist", "deepspeed.comm", "horovod.torch", "hvd"}
        return is_torch and (last in COLLECTIVES or _gathers_state(call, home, last))
    if call.name == "full_tensor" and call.receiver is not None and not call.args:
        return True  # every rank gives its part of a DTensor
    if call.receiver is not None and call.name in OF_ENGINES | {"save_checkpoint", "save_16bit_model"}:
        return receiver_role(walk.trace.run, call) is Role.ENGINE
    return False


def _gathers_state(call: Call, home: str, last: str) -> bool:
    """A sharded state that is gathered whole, or saved together."""
    if last in {"save", "async_save", "load"}:
        return home.endswith("distributed.checkpoint")
    if last not in {"get_model_state_dict", "get_optimizer_state_dict", "get_state_dict"}:
        return False
    options = call.keywords.get("options")
    whole = options.keywords.get("full_state_dict") if isinstance(options, Applied) else None
    return isinstance(whole, Constant) and whole.value is True


def _is_none(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _asks(scope: Scope) -> bool | None:
    """Whether a condition holds on the first rank, or on some ranks alone, which are then taken as it."""
    asks = asks_for_rank(scope.node)
    return True if asks is None and compares_with_rank(scope.value) else asks


def asks_for_rank(node: ast.AST) -> bool | None:
    """Whether a condition holds on the first rank (True), on the others (False), or asks something else."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            answer = asks_for_rank(inner)
            return None if answer is None else not answer
        case ast.BoolOp(op=ast.And(), values=values):
            answers = [answer for value in values if (answer := asks_for_rank(value)) is not None]
            return answers[0] if answers else None
        case ast.BoolOp(op=ast.Or(), values=values):
            # `rank != 0 or not due` holds on all the others, whatever else is asked.
            return False if any(asks_for_rank(value) is False for value in values) else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _rank_comparison(left, op, right)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return True if FIRST.match(name) else None
        case ast.Call(func=func):
            return True if FIRST.match(_last_name(func)) else None
    return None


def _rank_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
    if isinstance(left, ast.Constant | ast.UnaryOp | ast.Tuple | ast.List):
        left, right = right, left
    if not _is_rank(left):
        return None
    try:
        against = ast.literal_eval(right)
    except ValueError:
        return None
    if isinstance(op, ast.Eq) and against == 0:
        return True
    if isinstance(op, ast.NotEq) and against == 0:
        return False
    if isinstance(against, tuple | list | set) and 0 in against:
        return isinstance(op, ast.In)
    return False if isinstance(op, ast.Gt) and against == 0 and _is_call(left) else None


def _is_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call)


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _is_rank(node: ast.expr) -> bool:
    """`rank`, `args.local_rank`, `dist.get_rank()`, `int(os.environ["RANK"])`, `process_index`."""
    last = ""
    for inner in all_nodes(node):
        if isinstance(inner, ast.Name | ast.Attribute):
            last = inner.attr if isinstance(inner, ast.Attribute) else inner.id
            break
        if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "int":
            return any("RANK" in name for name in names_in(inner))
        if isinstance(inner, ast.Call):
            last = _last_name(inner.func)
            break
        if isinstance(inner, ast.Subscript):
            return any("RANK" in name for name in names_in(inner))
    parts = words(last)
    return bool(parts) and (
        parts[-1] == "rank" or last in {"process_index", "local_process_index", "proc_id"}
    )


# Decisions


@dataclass(frozen=True, slots=True)
class _Flag:
    """An answer that is kept: the names that hold it, and those that were asked about."""

    names: frozenset[str]
    asked: frozenset[str]


@dataclass(frozen=True, eq=False)
class Decisions:
    """Which conditions of a walk each rank answers for itself."""

    ranks: Ranks

    @cached_property
    def local(self) -> dict[int, bool]:
        """Of each condition, by its scope's id: whether it asks about values that only this rank has."""
        walk = self.ranks.walk
        asked = {id(s): s for e in walk.trace.events for s in e.scopes() if s.kind in {"if", "loop"}}
        found = {key: self.is_local_condition(s) for key, s in asked.items()}
        for _ in range(ROUNDS):
            marked = self._marked(found)
            for key, scope in asked.items():
                if not found[key] and self._asks_for(scope, marked):
                    found[key] = True
        return found

    def is_local_condition(self, scope: Scope) -> bool:
        """Whether a condition asks about this rank's own values, and not whether something is there."""
        node = scope.node
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return False
        return scope.kind == "if" and self.is_local(scope.value)

    def is_local(self, value: Value | None) -> bool:
        """Whether a value was made from what this rank computed on its own data, without agreement."""
        if value is None or isinstance(value, Constant):
            return False
        made_from = list(ancestry(self.ranks.walk.trace.run, value))
        if any(map(self.ranks.is_agreed, made_from)):
            return False
        return any(map(self._is_own_output, made_from))

    def _is_own_output(self, value: Value) -> bool:
        if not isinstance(value, Applied | Delayed):
            return False
        if id(value) in self._trained or is_clock(value):
            return True
        return id(value.site.node) in self._split_nodes

    @cached_property
    def _trained(self) -> frozenset[int]:
        return training_outputs(self.ranks.walk)

    @cached_property
    def _split_nodes(self) -> frozenset[int]:
        """The runs of networks on data of which each rank has its own part."""
        found = set()
        for move in self.ranks.walk.moves:
            call = move.event
            given = (*call.args, *call.keywords.values()) if isinstance(call, Call) else ()
            if move.kind is Kind.FORWARD and (is_own_data(given) or self._is_prepared(given)):
                found.add(id(call.site.node))
        return frozenset(found)

    def is_of_own_part(self, value: Value) -> bool:
        """Whether a value comes from data of which each rank has its own part."""
        return is_own_data([value]) or self._is_prepared([value])

    def _is_prepared(self, given: Iterable[Value]) -> bool:
        """Whether data come from a loader that accelerate or fabric split among the ranks."""
        run = self.ranks.walk.trace.run
        return any(id(one) in self._prepared for value in given for one in ancestry(run, value))

    @cached_property
    def _prepared(self) -> frozenset[int]:
        run = self.ranks.walk.trace.run
        events = self.ranks.walk.trace.events
        run_over = {id(s.value) for event in events for s in event.scopes() if s.kind == "loop"}
        return frozenset(
            id(value)
            for event in events
            if isinstance(event, Call) and event.name in {"prepare", "setup_dataloaders"}
            for value in event.args
            if role_of(run, value) is Role.LOADER or id(value) in run_over
        )

    def _marked(self, local: dict[int, bool]) -> set[str]:
        """The names that are set under local conditions: counters of bad epochs, flags to stop."""
        found = set(self._chosen_by_local) | signalled_names(self.ranks.walk.trace.run.index)
        for event in self.ranks.walk.trace.events:
            # What a round counts is the same on all ranks that come to it, whoever ends the loop.
            if not any(local.get(id(scope)) for scope in event.scopes() if scope.kind != "loop"):
                continue
            if isinstance(event, Assignment):
                found |= self.stored(event)
            elif isinstance(event, Jump) and event.kind == "return" and event.within:
                found.add(event.within[-1].name)
        found |= {name for event in self._flags if found & event.asked for name in event.names}
        found |= set(self._answers(found))
        return found - {"self", "main"}

    @cached_property
    def _flags(self) -> tuple[_Flag, ...]:
        """`self.done = self.bad >= self.patience`: what is asked of a mark is one."""
        return tuple(
            _Flag(frozenset(self.stored(event)), self.asked_names(event.site.source, event.site.node))
            for event in self.ranks.walk.trace.events
            if isinstance(event, Assignment)
            and isinstance(event.site.node, ast.Compare | ast.BoolOp | ast.UnaryOp)
            and not self.ranks.is_shared(event.value)
        )

    def _answers(self, marked: set[str]) -> Iterator[str]:
        """The names of calls that give back a mark: `return self.bad >= self.patience`."""
        asked: set[Function] = set()
        for event in self.ranks.walk.trace.events:
            if isinstance(event, Jump) and event.kind == "return" and event.within:
                own = {n.attr for n in all_nodes(event.site.node, ast.Attribute)}
                if own & marked:
                    asked.add(event.within[-1])
        index = self.ranks.walk.trace.run.index
        for function in asked:
            if function.name != "__call__":
                yield function.name
        for event in self.ranks.walk.trace.events if asked else ():
            if not isinstance(event, Call) or not isinstance(event.callee, Instance):
                continue
            if index.method(event.callee.cls, "__call__") in asked:
                yield event.name

    @cached_property
    def _chosen_by_local(self) -> frozenset[str]:
        """`stale = 0 if loss < best else stale + 1`: the names that a local value chooses for."""
        events = [event for event in self.ranks.walk.trace.events if isinstance(event, Assignment)]
        chosen = [(event, node) for event in events if isinstance(node := event.site.node, ast.IfExp)]
        asked = {name for _, node in chosen for name in names_in(node.test)}
        own = {
            name
            for event in events
            for name in asked & set(_stored_names(event.target))
            if self.is_local(event.value)
        }
        return frozenset(
            name
            for event, node in chosen
            if own & set(names_in(node.test))
            for name in _stored_names(event.target)
        )

    def _asks_for(self, scope: Scope, marked: set[str]) -> bool:
        node = scope.node
        test = node.test if isinstance(node, ast.While) else node if scope.kind == "if" else None
        if test is None or not marked & self.asked_names(scope.source, test):
            return False
        return not self.ranks.is_shared(scope.value)

    def stored(self, event: Assignment) -> set[str]:
        """The names that an assignment stores; a variable of a function is that function's alone."""
        around = self._functions_around(event.site.source, event.site.node)
        nodes = [node for function in around[:1] for node in all_nodes(function.node)]
        shared = {n for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
        own = {n.id for n in all_nodes(event.target, ast.Name)} - shared
        return {_inside(name, *around[:1]) if name in own else name for name in _stored_names(event.target)}

    def asked_names(self, source: Source, node: ast.AST) -> frozenset[str]:
        """The names in an expression, each also as the variable of a function around it."""
        around = self._functions_around(source, node)
        names = set(names_in(node))
        return frozenset(names | {_inside(name, one) for name in names for one in around})

    def _functions_around(self, source: Source, node: ast.AST) -> list[Function]:
        """The functions that a place lies in, innermost first."""
        line = getattr(node, "lineno", 0)
        known = self._functions_by_source.get(id(source), ())
        found = [one for one in known if one.node.lineno <= line <= (one.node.end_lineno or 0)]
        return sorted(found, key=lambda one: -one.node.lineno)

    @cached_property
    def _functions_by_source(self) -> dict[int, list[Function]]:
        found: dict[int, list[Function]] = {}
        for function in self.ranks.walk.trace.run.index.functions:
            found.setdefault(id(function.source), []).append(function)
        return found


def is_clock(value: Value) -> bool:
    """The time on this machine, which no two ranks ask for at the same moment."""
    return isinstance(value, Applied) and value.callee in CLOCKS


ROUNDS = 3  # of a mark handed on from name to name


def _inside(name: str, function: Function | None = None) -> str:
    """A variable by the function that it belongs to, or by its name alone."""
    return name if function is None else f"{name} of {function.name}:{function.node.lineno}"


def _stored_names(target: ast.AST) -> Iterator[str]:
    for node in all_nodes(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def is_own_data(given: Iterable[Value]) -> bool:
    """Whether data come from a sampler or data set that was told which rank this is."""
    waiting = list(given)
    seen: set[int] = set()
    while waiting and len(seen) < MOST_VALUES:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case Applied(callee=callee) if "Distributed" in callee or callee.endswith("get_rank"):
                return True
            case Applied(callee=".to" | ".cuda", args=args):
                waiting.extend(args[:1])  # a device is chosen by the rank and splits nothing
            case Instance(made_with=made_with):
                if any("rank" in name and not _is_none(v) for name, v in made_with.items()):
                    return True
            case Leaf(name=name) | Part(key=str() as name) if words(name)[-1:] == ("rank",):
                return True
            case _:
                waiting.extend(inputs(value))
    return False
