"""Gradients gathered over several batches before an update."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.alternatives import is_one_of
from stethoscope.program.loop.loop_order import clears, questions
from stethoscope.program.loop.loss_scaling import scaling
from stethoscope.program.loop.micro_batches import is_single, is_window_of_batches, spoken_of_micro_batches
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop, condition
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.mentions import mentions
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Jump, Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value

ACCUMULATION_WORDS = frozenset(
    {"accum", "accumulate", "accumulation", "accumulated", "accumulating", "acc", "micro", "microbatch"}
    | {"accumulative"}
)
DRAWING = ("next", "get_batch", "sample_batch", "next_batch", "get_next_batch")


@dataclass(frozen=True, slots=True, eq=False)
class Accumulation:
    """A window of batches whose gradients are gathered: the backward pass, the update, and how many batches.

    `count` is the expression of their number as written, where the loop says it. `others` are backward
    passes that take the place of the first in other settings.
    """

    backward: Move
    update: Move
    count: ast.expr | None
    value: Value | None = None
    others: tuple[Move, ...] = ()


def accumulation(loop: TrainingLoop) -> Accumulation | None:
    """The window over which a loop gathers gradients, where it does so on purpose."""
    if loop.body is None or loop.body.kind != "loop":
        return None
    return _every_nth(loop) or _inner_loop(loop)


def _every_nth(loop: TrainingLoop) -> Accumulation | None:
    """`if (i + 1) % n == 0: optimizer.step()` with the backward pass in every round."""
    backwards = loop.of(Kind.BACKWARD)
    for update in (move for move in loop.moves if move.updates):
        asked = questions(loop, update.event)
        if update.by_engine or any(questions(loop, one.event) >= asked for one in backwards):
            continue
        fed_by = [one for one in backwards if _own_questions(loop, one, backwards) < asked]
        clearing = [z for z in loop.of(Kind.ZERO_GRAD) if questions(loop, z.event) >= asked]
        if not fed_by or not is_one_of(loop.trace, [one.event for one in fed_by]) or not clearing:
            continue
        for scope in _scopes_asking(loop, asked - questions(loop, fed_by[0].event)):
            count = _modulus(loop, scope)
            if count is not None and not _stays_one(loop, *count):
                return Accumulation(fed_by[0], update, *count, tuple(fed_by[1:]))
    return None


def _own_questions(loop: TrainingLoop, one: Move, backwards: Sequence[Move]) -> frozenset[tuple[str, bool]]:
    """The conditions around a backward pass, but those of which the other arm has one as well."""
    elsewhere = {asked for other in backwards for asked in questions(loop, other.event)}
    found = questions(loop, one.event)
    return frozenset(
        (question, answer) for question, answer in found if (question, not answer) not in elsewhere
    )


def _scopes_asking(loop: TrainingLoop, asked: frozenset[tuple[str, bool]]) -> Iterator[Scope]:
    """The conditions, on the way or by a jump, behind questions."""
    wanted = {question for question, _ in asked}
    told: set[str] = set()
    for event in loop.events:
        for scope in event.scopes():
            if scope is loop.body:
                break
            if scope.kind == "if" and (question := condition(scope)[0]) in wanted - told:
                told.add(question)
                yield scope


def _modulus(loop: TrainingLoop, scope: Scope) -> tuple[ast.expr | None, Value] | None:
    """The n of a condition that is met in every n-th round."""
    asked = quietly(loop.run, scope.value) if scope.value is not None else None
    for value in ancestry(loop.run, asked):
        if isinstance(value, Applied) and value.callee == "%" and len(value.args) == 2:
            node = value.site.node
            return (node.right if isinstance(node, ast.BinOp) else None), value.args[1]
        if isinstance(value, Delayed):
            break
    return _counted_to(loop, scope)


def _counted_to(loop: TrainingLoop, scope: Scope) -> tuple[ast.expr | None, Value] | None:
    """The n of `if gathered == n`, where the count begins anew behind it."""
    value, node = scope.value, scope.node
    if (
        not isinstance(value, Applied)
        or value.callee not in {"==", ">="}
        or not isinstance(node, ast.Compare)
    ):
        return None
    counter = dotted(node.left)
    begins_anew = any(
        isinstance(event, Assignment)
        and dotted(event.target) == counter
        and isinstance(event.value, Constant)
        and event.value.value == 0
        and not event.operator
        and any(one is scope for one in event.scopes())
        for event in loop.events
    )
    return (node.comparators[0], value.args[1]) if counter and begins_anew else None


def _inner_loop(loop: TrainingLoop) -> Accumulation | None:
    """A loop over micro-batches inside the step."""
    micro = loop.micro
    if micro is None or not isinstance(micro.node, ast.For):
        return None
    update = next((m for m in loop.moves if m.updates and micro not in m.event.scopes()), None)
    inside = [m for m in loop.of(Kind.BACKWARD) if micro in m.event.scopes()]
    clears_inside = any(_is_in_round(m, micro) for m in loop.of(Kind.ZERO_GRAD))
    if update is None or not inside or not is_one_of(loop.trace, [m.event for m in inside]) or clears_inside:
        return None
    over = micro.value
    count, value = None, None
    if isinstance(over, Applied) and over.callee == "range" and isinstance(micro.node.iter, ast.Call):
        count, value = micro.node.iter.args[-1], over.args[-1]
    draws = any(
        isinstance(event, Call) and event.name in DRAWING and micro in event.scopes() for event in loop.events
    )
    is_meant = bool(ACCUMULATION_WORDS & spoken_of_micro_batches(loop, micro)) or (
        count is not None and (draws or _is_scaled_by(loop, inside[0], count))
    )
    if not (is_meant or is_window_of_batches(loop, micro)) or (value is not None and _is_one(value)):
        return None
    return Accumulation(inside[0], update, count, value, tuple(inside[1:]))


def _is_scaled_by(loop: TrainingLoop, backward: Move, count: ast.expr) -> bool:
    """Whether the whole loss is multiplied or divided by the number of rounds, as it is written."""
    for value, is_whole in scaling(loop, backward.subject) if backward.subject is not None else ():
        node = value.site.node if isinstance(value, Applied) and value.callee in {"*", "/"} else None
        if is_whole and isinstance(node, ast.BinOp):
            written = {ast.unparse(one) for one in (node.left, node.right)}
            if ast.unparse(count) in written:
                return True
    return False


def _is_in_round(move: Move, micro: Scope) -> bool:
    """Whether a move is inside a loop; one over known elements is followed once for each of them."""
    return any(scope.node is micro.node for scope in move.event.scopes())


def _is_one(value: Value) -> bool:
    return isinstance(value, Constant) and value.value == 1


def _stays_one(loop: TrainingLoop, written: ast.expr | None, value: Value) -> bool:
    """Whether a window holds one batch: a parameter that is 1 by default is there to be given more.

    A script that was walked from its first line has given all that it gives.
    """
    if not isinstance(value, Constant) or value.value != 1:
        return False
    is_default = not value.setting and written is not None and not isinstance(written, ast.Constant)
    is_script = isinstance(loop.trace.start, Module) and loop.trace.complete
    return not (is_default and _is_offered(loop.run.index)) or is_script


@remembered
def _is_offered(index: Index) -> bool:
    """Whether a function takes a number of batches to gather."""
    return any(SPOKEN.intersection(words(name)) for one in index.functions for name in one.parameters)


def _names(*nodes: ast.AST) -> Iterator[str]:
    for node in nodes:
        for inner in all_nodes(node):
            name = dotted(inner)
            if name is not None:
                yield name.rpartition(".")[2]


def gathers_wrongly(loop: TrainingLoop) -> bool:
    """Whether a loop means to gather gradients and does not: cleared, divided or entered for nothing."""
    return any(
        one(loop) is not None for one in (cleared_every_batch, divided_without_window, accumulates_one)
    )


def cleared_every_batch(loop: TrainingLoop) -> tuple[Move, Move] | None:
    """A clearing in every round, and an update that waits for several."""
    if loop.body is None or loop.body.kind != "loop":
        return None
    backwards = loop.of(Kind.BACKWARD)
    for update in (move for move in loop.moves if move.updates and not move.by_engine):
        for zero in loop.of(Kind.ZERO_GRAD):
            if not clears(loop, zero, update):
                continue
            if _empties_micro_batches(loop, zero, update) or _empties_window(loop, zero, update, backwards):
                return zero, update
    return None


def _empties_micro_batches(loop: TrainingLoop, zero: Move, update: Move) -> bool:
    micro = loop.micro
    if micro is None or micro in update.event.scopes() or micro not in zero.event.scopes():
        return False
    if _inside_condition(zero, micro):
        return False
    spoken = {word for name in _names(micro.node) for word in words(name)}
    return bool(spoken & ACCUMULATION_WORDS) or _only_gathers(loop, micro, zero, update)


def _only_gathers(loop: TrainingLoop, micro: Scope, zero: Move, update: Move) -> bool:
    """Whether the gradients of an inner loop are for the update behind it, and for nothing in between."""
    inside = [move for move in loop.moves if micro in move.event.scopes()]
    order = [move.kind for move in inside if move.kind in {Kind.ZERO_GRAD, Kind.BACKWARD}]
    if not isinstance(micro.node, ast.For) or order != [Kind.ZERO_GRAD, Kind.BACKWARD]:
        return False
    if any(move.kind in {Kind.CLIP, Kind.UNSCALE} or _leaves(move, micro) for move in inside):
        return False  # per sample, or until one of several attempts succeeds
    behind = loop.moves[loop.moves.index(inside[-1]) + 1 : loop.moves.index(update) + 1]
    is_next = update in behind and not any(move.kind is Kind.BACKWARD for move in behind)
    return is_next and not _looks_at_gradients(loop, micro)


def _leaves(move: Move, micro: Scope) -> bool:
    """Whether a jump ends a round of the loop, and not only a function that it calls."""
    if not isinstance(move.event, Jump):
        return False
    left = move.event.leaves
    return left is None or left is micro or micro not in left.outwards()


def _looks_at_gradients(loop: TrainingLoop, micro: Scope) -> bool:
    """Whether something in a loop, or in what it calls, takes gradients for a purpose of its own."""
    called = {one for event in loop.events if micro in event.scopes() for one in event.within}
    nodes = [micro.node, *(one.node for one in called if not _holds(one.node, micro.node))]
    return any(getattr(inner, "attr", "") == "grad" for node in nodes for inner in all_nodes(node))


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in all_nodes(outer))


def _inside_condition(move: Move, scope: Scope) -> bool:
    for one in move.event.scopes():
        if one is scope:
            return False
        if one.kind == "if":
            return True
    return False


def _empties_window(loop: TrainingLoop, zero: Move, update: Move, backwards: tuple[Move, ...]) -> bool:
    asked = questions(loop, update.event)
    fed_by = [one for one in backwards if questions(loop, one.event) < asked]
    if (
        len(backwards) != 1
        or not fed_by
        or not questions(loop, zero.event) <= questions(loop, fed_by[0].event)
    ):
        return False
    for scope in _scopes_asking(loop, asked - questions(loop, fed_by[0].event)):
        count = _modulus(loop, scope)
        if count is not None and not _is_one(count[1]):
            return True
    return False


def divided_without_window(loop: TrainingLoop) -> tuple[Move, ast.expr | None] | None:
    """A loss that is divided by a number of batches in a loop that updates after each of them."""
    if loop.body is None or loop.body.kind != "loop" or len(loop.of(Kind.BACKWARD)) != 1:
        return None
    backward = loop.of(Kind.BACKWARD)[0]
    updates = [move for move in loop.moves if move.updates]
    if backward.by_engine or not updates or backward.subject is None or any(m.by_engine for m in updates):
        return None
    if not all(questions(loop, move.event) <= questions(loop, backward.event) for move in updates):
        return None
    if loop.micro is not None and not is_single(loop.micro):
        return None
    for value, is_whole in scaling(loop, backward.subject):
        if not is_whole or not isinstance(value, Applied) or value.callee != "/":
            continue
        node = value.site.node
        written = node.right if isinstance(node, ast.BinOp) else getattr(node, "value", None)
        divisor = value.args[1]
        spoken = {word for name in _names(written) for word in words(name)} if written is not None else set()
        if spoken & SPOKEN and not _is_one(divisor):
            return backward, written
    return None


def accumulates_one(loop: TrainingLoop) -> tuple[Site, Site, str] | None:
    """`with accelerator.accumulate(model)` of an Accelerator that was not told of the option there is for it.

    The place that enters it, the place that makes the Accelerator, and the option.
    """
    for backward in loop.of(Kind.BACKWARD):
        for scope in backward.event.scopes():
            value = scope.value
            if scope.kind != "with" or not isinstance(value, Applied) or value.callee != ".accumulate":
                continue
            engine = value.args[0]
            if not isinstance(engine, Applied) or not engine.callee.endswith("Accelerator"):
                continue
            if any(map(_is_told, engine.keywords.items())) or _is_open(engine):
                continue
            asked = _accumulation_option(loop.run.index) or _accumulation_setting(loop.run)
            if asked:
                return value.site, engine.site, asked
    return None


def _is_told(given: tuple[str, Value]) -> bool:
    """Whether an argument asks for accumulation; a 1 that is written there does not."""
    keyword, value = given
    written_one = isinstance(value, Constant) and value.value == 1 and not value.setting
    return "accumulation" in keyword and not written_one


def _is_open(made: Applied) -> bool:
    """Whether `**` may hand over more than is seen."""
    node = made.site.node
    return isinstance(node, ast.Call) and any(keyword.arg is None for keyword in node.keywords)


@remembered
def _accumulation_option(index: Index) -> str:
    """The option of the program that asks for accumulation."""
    named = (option.name for option in declared_options(index) if option.default != 1)
    return next((name for name in named if SPOKEN.intersection(words(name))), "")


def _accumulation_setting(run: Execution) -> str:
    """The setting of a file that asks for accumulation, by a name that the program knows."""
    code = mentions(run.index)
    for name in sorted({*code.attributes, *code.texts}):
        if not SPOKEN.intersection(words(name)):
            continue
        values = run.settings.values_named(name)
        if any(isinstance(value, int) and not isinstance(value, bool) and value > 1 for value in values):
            return name
    return ""


SPOKEN = ACCUMULATION_WORDS - {"acc", "micro", "microbatch"}
