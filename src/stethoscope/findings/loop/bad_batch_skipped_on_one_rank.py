"""One rank skips its backward pass on a NaN of its own, and the others wait for it forever.

## What it checks
In training loops of programs that wrap their model in DistributedDataParallel or FSDP, by hand or by
Accelerate, Fabric or DeepSpeed: a `continue` or `return` before the backward pass, or a condition around it,
or an error that the loop catches, that asks whether this rank's loss is finite, where no collective call made
the ranks agree first.

## Why it matters
`backward()` averages gradients over all ranks. A rank that skips it leaves the others waiting in all_reduce
until the time limit ends the run; or its next batch is averaged with their previous one.

## When it is harmless
Where the decision was reduced over the ranks first (`all_reduce`, `all_gather`, `broadcast`), where the
loss is made finite instead of left out, where the run ends on NaN, and with one process.

## References
- torch.nn.parallel.DistributedDataParallel
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.loop.caught_raises import caught_before
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.ranks.agreed_decisions import agreed_by_all, asked_through, engine_at
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call, Event, Jump, Scope
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import Applied, Delayed, Value
from stethoscope.run import Fix, Level
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP116", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

SHARDED = ("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "deepspeed.initialize")
ENGINES = frozenset({"Accelerator", "Fabric", "LightningLite"})  # wrap what they prepare
FINITE = frozenset({"isnan", "isfinite", "isinf", "isneginf", "isposinf"})
COLLECTIVES = frozenset(
    {
        "all_reduce",
        "all_gather",
        "all_gather_object",
        "all_gather_into_tensor",
        "broadcast",
        "broadcast_object_list",
        "reduce",
        "gather",
        "reduce_scatter",
        "barrier",
        "gather_for_metrics",
        "gather_object",
    }
)

SCALED = 3  # the loss, scaled or divided, and what it is then
TOGETHER = "let the ranks leave out a batch together"


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each decision to skip that one rank takes alone."""
    for loop in loops:
        backward = next(iter(loop.of(Kind.BACKWARD)), None)
        if backward is None or not _is_distributed(loop):
            continue
        for event, asked in _skips(loop, backward):
            if not _is_agreed(loop, event, backward):
                yield Finding(
                    where=(event.site.where, backward.event.site.where),
                    message=f"a rank whose own {ast.unparse(asked)} leaves out "
                    f"{backward.event.site.text}, in which the other ranks wait for it",
                    evidence={"condition": ast.unparse(asked), "backward": backward.event.site.text},
                    fix=_fix(loop, event, asked, backward),
                )
                break


def _is_distributed(loop: TrainingLoop) -> bool:
    calls = [event for event in loop.trace.events if isinstance(event, Call)]
    return any(_name(call).endswith(SHARDED) or _is_prepared(call) for call in calls)


def _is_prepared(call: Call) -> bool:
    """`accelerator.prepare(model, ...)`, `fabric.setup(model, ...)`."""
    engine = call.receiver
    is_engine = isinstance(engine, Applied) and engine.callee.rpartition(".")[2] in ENGINES
    return is_engine and call.name in {"prepare", "prepare_model", "setup", "setup_module"}


def _name(call: Call) -> str:
    callee = getattr(call.callee, "name", "") or getattr(call.receiver, "name", "")
    return call.name if call.name in SHARDED else str(callee)


def _skips(loop: TrainingLoop, backward: Move) -> Iterator[tuple[Event, ast.AST]]:
    """Jumps before the backward pass, and the backward pass itself, under a question of finiteness."""
    around = {id(scope) for scope in backward.event.scopes()}
    for raising, asked in caught_before(loop, backward.event):
        if any(_last(node) in FINITE for node in all_nodes(asked, ast.Call)):
            yield raising, asked
    for event in loop.events:
        if event is backward.event:
            scope = _finite_question(loop, event)
            if scope is not None and scope.arm is not _asks_for_bad(scope):
                yield event, scope.node
            return
        if isinstance(event, Jump) and event.kind in {"continue", "return"}:
            leaves_it = event.leaves is not None and id(event.leaves) in around
            scope = _finite_question(loop, event)
            if leaves_it and scope is not None and id(scope) not in around:
                yield event, scope.node


def _finite_question(loop: TrainingLoop, event: Event) -> Scope | None:
    for scope in event.scopes():
        if scope is loop.body:
            break
        if scope.kind == "if" and _asks_finite(loop, scope):
            return scope
    return None


def _asks_finite(loop: TrainingLoop, scope: Scope) -> bool:
    if any(_last(node) in FINITE for node in all_nodes(scope.node, ast.Call)):
        return True
    return any(
        isinstance(value, Applied) and value.callee.rpartition(".")[2] in FINITE
        for value in ancestry(loop.run, scope.value)
    )


def _asks_for_bad(scope: Scope) -> bool:
    """Whether a question is met by what is not finite."""
    text = ast.unparse(scope.node)
    return ("isnan" in text or "isinf" in text) and "not " not in text and "~" not in text


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_agreed(loop: TrainingLoop, skip: Event, backward: Move) -> bool:
    """Whether the ranks spoke to each other earlier in the round, of more than what their networks gave."""
    for event in loop.events:
        if event is skip:
            return False
        if isinstance(event, Call) and (event.name in COLLECTIVES or "reduce" in event.name):
            given = (event.receiver, *event.args, *event.keywords.values())
            if not any(_is_output(loop, value, backward) for value in given if value is not None):
                return True
    return False


def _is_output(loop: TrainingLoop, value: Value, backward: Move) -> bool:
    """Whether a value is what a network gave, and neither the loss nor a question about it."""
    losses = {id(one) for one in islice(ancestry(loop.run, backward.subject), SCALED)}
    made = list(ancestry(loop.run, value))
    names = {one.callee.rpartition(".")[2] for one in made if isinstance(one, Applied)}
    if names & FINITE or any(id(one) in losses for one in made):
        return False
    return any(isinstance(one, Applied | Delayed) and is_model_call(loop.run.index, one) for one in made)


def _fix(loop: TrainingLoop, skip: Event, asked: ast.AST, backward: Move) -> Fix | None:
    """The batch left out by all ranks where it is bad on one, by the loss that is at hand."""
    scope = next((one for one in skip.scopes() if one.node is asked), None)
    node = backward.event.site.node
    engine = engine_at(loop.trace, skip)
    if engine is not None and scope is not None and isinstance(asked, ast.expr) and scope.arm:
        gathered = asked_through(*engine, scope.source, loop.run.index, asked)
        is_skipped = skip is not backward.event
        return Fix(TOGETHER, Level.UNSAFE, gathered) if gathered and is_skipped else None
    loss = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if scope is None or loss is None or not is_name_chain(loss) or not isinstance(asked, ast.expr):
        return None
    if skip.within != backward.event.within or backward.by_engine:
        return None
    is_backward = skip is backward.event
    splices = agreed_by_all(
        loop.run.index,
        scope.source,
        asked,
        f", device={ast.unparse(loss)}.device",
        is_any=scope.arm is not is_backward,
    )
    return Fix(TOGETHER, Level.UNSAFE, splices) if splices else None
