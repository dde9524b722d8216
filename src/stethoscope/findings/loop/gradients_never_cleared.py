"""Gradients are never cleared, so every step adds up all batches since the start.

## What it checks
In each loop that updates weights, whether anything clears the gradients: `optimizer.zero_grad()`,
`model.zero_grad()`, `p.grad = None`, or a helper that does it. The loop is followed through the functions and
methods it calls, and through the conditions in it. A clearing that one round alone meets (`if step == 0`, a
flag that is turned once) clears nothing for the others, and neither does one that is met only where a round
is left before its step, as after a loss that is not finite. Loops that move weights by hand
(`p.data.add_(p.grad, alpha=-lr)`) are held to the same, where their file clears gradients nowhere.

## Why it matters
`backward()` adds to what is already in `.grad`. Without clearing, each update repeats all earlier gradients:
the effective step grows without bound, the loss falls at first, then oscillates or diverges.

## When it is harmless
Clearing after the step, before the next batch, once per accumulation window, by hand, or inside an engine's
own step is all the same. A loop that never updates weights needs no clearing: gradients may be what it is
for. Frameworks that clear by themselves (Lightning's automatic optimization, the Hugging Face Trainer,
deepspeed) are left alone, and so is a loop whose optimizer is handed to something that could not be followed.
A tensor that each round makes anew has no gradient to clear, and neither has one whose gradient each round
writes from another's (`master.grad = p.grad.float() / scale`).

## References
- torch.optim.Optimizer.zero_grad
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, put_after
from stethoscope.program.index import index
from stethoscope.program.loop.hand_moved_weights import gradients_are_replaced
from stethoscope.program.loop.hand_updates import HandUpdate, uncleared_updates
from stethoscope.program.loop.loop_order import may_clear
from stethoscope.program.loop.moves import Kind, Move, same_object
from stethoscope.program.loop.one_round_only import asked_once
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Jump, Scope
from stethoscope.program.walk.values import Applied, Items, Value
from stethoscope.run import Fix, Level
from stethoscope.signals.sources import Sources
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP101", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops, sources: Sources) -> Iterator[Finding]:
    """Report each update, by an optimizer or by hand, with gradients which nothing clears."""
    yield from map(_never_cleared_by_hand, uncleared_updates(index(sources.program)))
    for loop in loops:
        if not loop.is_whole or any(move.by_engine and move.updates for move in loop.moves):
            continue
        zeros = loop.of(Kind.ZERO_GRAD)
        for step in _updates(loop):
            clearing = [zero for zero in zeros if may_clear(loop, zero, step)]
            if clearing and all(_is_of_skipped_rounds(loop, zero) for zero in clearing):
                yield _cleared_when_skipped(step, clearing[0])
                continue
            if clearing and all(_is_now_and_then(loop, zero, step) for zero in clearing):
                yield _cleared_now_and_then(step, clearing[0])
                continue
            asked = [asked_once(loop, zero.event, step.event) for zero in clearing]
            if not all(asked) or _is_fresh(loop, step) or gradients_are_replaced(loop, step):
                continue
            yield _cleared_once(step, clearing[0], asked[0]) if clearing else _never_cleared(loop, step)


def _never_cleared_by_hand(one: HandUpdate) -> Finding:
    return Finding(
        (one.update.where, one.backward.where),
        f"{one.update.text} moves weights by a gradient that nothing clears: it adds up all batches so far",
        evidence={"step": one.update.text, "backward": one.backward.text},
    )


def _never_cleared(loop: TrainingLoop, step: Move) -> Finding:
    backward = loop.of(Kind.BACKWARD)[0]
    message = (
        f"{_optimizer(step)} is stepped in a loop that clears other gradients and never its own"
        if loop.of(Kind.ZERO_GRAD)
        else "the weights are updated in a loop that never clears the gradients"
    )
    return Finding(
        where=(step.event.site.where, backward.event.site.where),
        message=message,
        evidence={"step": step.event.site.text, "backward": backward.event.site.text},
        fix=_fix(step),
    )


def _cleared_once(step: Move, zero: Move, asked: str) -> Finding:
    return Finding(
        where=(zero.event.site.where, step.event.site.where),
        message=f"{zero.event.site.text} is reached only where {asked}, and {step.event.site.text} goes on "
        "without it: every later step adds up all batches since",
        evidence={"step": step.event.site.text, "question": asked},
        proof="the loop meets the condition in one round and clears the gradients nowhere else",
        fix=_fix(step),
    )


def _is_of_skipped_rounds(loop: TrainingLoop, zero: Move) -> bool:
    """Whether gradients are cleared under a condition that goes on to the next round without an update."""
    jumps = [event for event in loop.events if isinstance(event, Jump) and event.leaves is loop.body]
    for scope in zero.event.scopes():
        if scope is loop.body or scope.kind != "if":
            return False
        if any(next(iter(jump.scopes()), None) is scope for jump in jumps):
            return not any(move.updates and scope in move.event.scopes() for move in loop.moves)
    return False


def _cleared_when_skipped(step: Move, zero: Move) -> Finding:
    return Finding(
        where=(zero.event.site.where, step.event.site.where),
        message=f"{zero.event.site.text} is reached only where a round is left before its step: "
        f"{step.event.site.text} adds up all batches between two such rounds",
        evidence={"step": step.event.site.text, "cleared": zero.event.site.text},
        fix=_fix(step),
    )


def _is_now_and_then(loop: TrainingLoop, zero: Move, step: Move) -> bool:
    """Whether gradients are cleared once in so many rounds, `if i % 100 == 0`, and every round updates."""
    under = [scope for scope in step.event.scopes() if scope.kind == "if"]
    for scope in zero.event.scopes():
        if scope is loop.body:
            return False
        if scope.kind == "if" and scope not in under and _counts_rounds(scope.node) and scope.arm:
            return not _is_under_condition(loop, step)
    return False


def _counts_rounds(asked: ast.AST) -> bool:
    match asked:
        case ast.Compare(left=ast.BinOp(op=ast.Mod(), right=every), ops=[ast.Eq()], comparators=[_]):
            return not (isinstance(every, ast.Constant) and every.value == 1)
    return False


def _is_under_condition(loop: TrainingLoop, move: Move) -> bool:
    """Whether a round may go on to the next without a move."""
    if any(isinstance(event, Jump) and event.leaves is loop.body for event in loop.events):
        return True
    for scope in move.event.scopes():
        if scope is loop.body:
            return False
        if scope.kind == "if":
            return True
    return True


def _cleared_now_and_then(step: Move, zero: Move) -> Finding:
    return Finding(
        where=(zero.event.site.where, step.event.site.where),
        message=f"{zero.event.site.text} is reached once in so many rounds, and {step.event.site.text} in "
        "each: every step adds up all batches since",
        evidence={"step": step.event.site.text, "cleared": zero.event.site.text},
        fix=_fix(step),
    )


def _updates(loop: TrainingLoop) -> list[Move]:
    """One update of each optimizer."""
    found: list[Move] = []
    for move in loop.moves:
        if move.updates and not any(same_object(move.subject, other.subject) for other in found):
            found.append(move)
    return found


def _is_fresh(loop: TrainingLoop, step: Move) -> bool:
    """Whether each round makes the tensors that it updates: `SGD([x])` with an x of its own has no past."""
    made = step.subject
    if not isinstance(made, Applied) or not made.args or loop.body is None:
        return False
    given = made.args[0]
    return isinstance(given, Items) and all(_is_made_in(loop.body, item) for item in given.items)


def _is_made_in(body: Scope, value: Value) -> bool:
    if not isinstance(value, Applied) or value.site.source is not body.source:
        return False
    return any(node is value.site.node for node in all_nodes(body.node))


def _fix(step: Move) -> Fix | None:
    """Clearing right after the step, by the name that the step is written with."""
    site, node = step.event.site, step.event.site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or step.by_engine:
        return None
    if node.func.attr != "step":
        return None
    around = blocks_around(site.source, node)
    if not around:
        return None
    block, position = around[0]
    splice = put_after(site.source, block[position], f"{_optimizer(step)}.zero_grad()")
    return Fix("clear the gradients after the step", Level.SAFE, (splice,))


def _optimizer(step: Move) -> str:
    node = step.event.site.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        written = node.args[0] if step.kind is Kind.SCALER_STEP and node.args else node.func.value
        return ast.unparse(written)
    return step.event.site.text
