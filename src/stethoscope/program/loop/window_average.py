"""Whether the gradients of a window of batches are averaged: who divides, and by what."""

from __future__ import annotations

import ast

from stethoscope.program.edits.statements import blocks_around, holding
from stethoscope.program.likenesses import words
from stethoscope.program.loop.accumulation import ACCUMULATION_WORDS, Accumulation
from stethoscope.program.loop.loss_scaling import scaling
from stethoscope.program.loop.moves import Move, same_object
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Assignment, Call
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Leaf, Part, Site, Value

DEEPEST = 6  # operations looked through in a divisor
# Calls that make a number of numbers; what else is called gives a tensor, and no number of batches.
NUMERIC = frozenset({"float", "int", "max", "min", "round", "len", "abs"})


def is_divided(loop: TrainingLoop, window: Accumulation) -> bool:
    """Whether something divides: the loss before its backward pass, the gradients after it, or the engine."""
    if any(_is_divided(loop, backward, window) for backward in (window.backward, *window.others)):
        return True
    return any(_scales_gradients(event) or _hands_share(event) for event in loop.events)


def _is_divided(loop: TrainingLoop, backward: Move, window: Accumulation) -> bool:
    if backward.by_engine and not _leaves_size(backward):
        return True
    if backward.subject is None:
        return True
    return any(
        _divides(loop, value, is_whole, window) or _is_sum(value)
        for value, is_whole in scaling(loop, backward.subject)
    )


def _is_sum(value: Value) -> bool:
    """A loss that is summed over its batch adds up over batches as it does over their elements."""
    if not isinstance(value, Applied):
        return False
    made = value.maker if isinstance(value.maker, Applied) else value
    given = made.keywords.get("reduction")
    return isinstance(given, Constant) and given.value == "sum"


def _leaves_size(backward: Move) -> bool:
    """Lightning's and Fabric's backward take the loss as it is; Accelerate's and DeepSpeed's divide."""
    call = backward.event
    if not isinstance(call, Call):
        return False
    if call.name == "manual_backward":
        return True
    made = call.receiver
    return isinstance(made, Applied) and made.callee.rpartition(".")[2] in {"Fabric", "LightningLite"}


def _divides(loop: TrainingLoop, value: Value, is_whole: bool, window: Accumulation) -> bool:
    if not isinstance(value, Applied):
        return False
    if value.callee in {"/", ".div", ".div_", "torch.div", ".true_divide"}:
        return len(value.args) < 2 or _may_count(loop, value.args[1], window, DEEPEST)
    if value.callee in {"*", ".mul", ".mul_"}:
        if is_whole and any(isinstance(arg, Constant) and not _is_many(arg) for arg in value.args):
            return True  # 1 / n, computed
        # A weight that is a number scales one term; a name may well hold 1 / n.
        factors = [
            arg for arg in value.args if not isinstance(arg, Constant) and not same_object(arg, window.value)
        ]
        return len(factors) > 1 and any(_is_share(loop, arg, window) for arg in factors)
    return False


def _is_many(factor: Constant) -> bool:
    """Whether a factor makes a loss larger: the number of batches itself, in the place of one over it."""
    return isinstance(factor.value, int | float) and factor.value > 1


def multiplied_by(loop: TrainingLoop, window: Accumulation) -> Site | None:
    """Where the loss is multiplied by the number of batches instead of being divided by it."""
    for value, is_whole in (
        scaling(loop, window.backward.subject) if window.backward.subject is not None else ()
    ):
        if not (is_whole and isinstance(value, Applied) and value.callee in {"*", ".mul", ".mul_"}):
            continue
        for arg in value.args[1:] if value.callee != "*" else value.args:
            is_count = window.value is not None and (arg is window.value or _is_equal(arg, window.value))
            if is_count or same_object(arg, window.value):
                return value.site
    return None


def _is_equal(one: Value, other: Value) -> bool:
    if not isinstance(one, Constant) or not isinstance(other, Constant):
        return False
    return _is_many(one) and one.value == other.value


def _is_share(loop: TrainingLoop, value: Value, window: Accumulation) -> bool:
    """Whether a factor may be one over the number of batches."""
    if isinstance(value, Applied) and value.callee == "/" and len(value.args) == 2:
        return _may_count(loop, value.args[1], window, DEEPEST)
    named = _words_of(value)
    return bool(named & (ACCUMULATION_WORDS | {"scale", "scaling", "inv", "norm"}))


def _may_count(loop: TrainingLoop, value: Value, window: Accumulation, depth: int) -> bool:
    """Whether a divisor may be the number of batches: no tensor that a batch is normalised by is."""
    if isinstance(value, Applied | Delayed) and _is_made_before(loop, value.site):
        return True  # what is counted over the whole window, as all of its tokens
    value = quietly(loop.run, value)
    if depth == 0 or isinstance(value, Delayed):
        return True
    if window.value is not None and same_object(value, window.value):
        return True
    match value:
        case Choice(options=options):
            return any(_may_count(loop, option, window, depth - 1) for option in options)
        case Applied(callee="+" | "-" | "*" | "/" | "//" | "%", args=args):
            inner = [arg for arg in args if not isinstance(arg, Constant)]
            return not inner or any(_may_count(loop, arg, window, depth - 1) for arg in inner)
        case Applied(callee=callee, args=args):
            last = callee.rpartition(".")[2]
            named = bool(set(words(last)) & ACCUMULATION_WORDS)
            return (
                named
                or _counts_rounds(loop, value)
                or (last in NUMERIC and any(_may_count(loop, a, window, depth - 1) for a in args))
            )
    return True


def _counts_rounds(loop: TrainingLoop, value: Applied) -> bool:
    """`len(group)` inside of `for batch in group`."""
    call, rounds = value.site.node, loop.micro.node if loop.micro is not None else None
    if value.callee != "len" or not isinstance(call, ast.Call) or not isinstance(rounds, ast.For):
        return False
    return ast.unparse(call.args[0]) in {ast.unparse(node) for node in all_nodes(rounds.iter)}


def _is_made_before(loop: TrainingLoop, site: Site) -> bool:
    """Whether something is computed in the loop's own function and outside of its rounds."""
    rounds = loop.micro or loop.body
    if rounds is None or site.source is not rounds.source:
        return False
    around = blocks_around(site.source, rounds.node)
    own = next((block[at] for block, at in around if isinstance(block[at], FunctionNode)), None)
    within = holding([own], site.node) is not None if own is not None else True
    return within and not any(node is site.node for node in all_nodes(rounds.node))


def _words_of(value: Value) -> set[str]:
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else ""
    return set(words(name)) if isinstance(name, str) else set()


def _hands_share(event: object) -> bool:
    """`batch["loss_scale"] = 1 / (tokens * rounds)`: the network multiplies with it."""
    if not isinstance(event, Assignment) or not isinstance(event.target, ast.Subscript):
        return False
    key = event.target.slice
    named = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    is_read_off = "get_scale" in event.site.text  # what a log is told of the scaler
    return {"loss", "scale"} <= set(words(named)) and not is_read_off


def _scales_gradients(event: object) -> bool:
    """`p.grad /= n`, `p.grad.div_(n)`, `p.grad.mul_(1 / n)`."""
    if isinstance(event, Assignment):
        is_grad = isinstance(event.target, ast.Attribute) and event.target.attr in {"grad", "data"}
        return is_grad and "grad" in ast.unparse(event.target) and event.operator in {"/", "*"}
    if isinstance(event, Call) and event.name in {"div_", "mul_", "_foreach_div_", "_foreach_mul_"}:
        return "grad" in event.site.text
    return False
