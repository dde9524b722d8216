"""The network runs where no gradients are recorded, and backward is called on its loss.

## What it checks
For each backward pass: whether every network that its loss was computed with ran inside `torch.no_grad()`
or `torch.inference_mode()`, by a `with` or by a decorator of a function around it; the same of the loss that
a hook gives to a framework. And whether a statement
such as `torch.set_grad_enabled(False)` in the validation is still in force in the next epoch. And whether the
loss was made into a new tensor or detached as a whole before the backward pass.

## Why it matters
There is no graph to go back through. torch raises where nothing else needs a gradient; where something else
does (a weight penalty, a learned temperature), training goes on and the network never learns.

## When it is harmless
A teacher or frozen backbone under `no_grad` whose output feeds a network outside of it. The same where the
update behind the backward pass is of other tensors: a temperature that is learned from what a policy gives.
`backward()` itself under `no_grad` with the loss computed outside works. `torch.enable_grad()` inside
switches recording on again.

## References
- torch.no_grad
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import (
    blocks_around,
    cut,
    put_before,
    without_decorator,
    without_header,
)
from stethoscope.program.index import Function, dotted
from stethoscope.program.loop.gradient_switches import left_off
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import holder_of, unwrapped
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.objective.idle_terms import made_anew
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.graphs import asks_unknown_objects, network_run, passes, records
from stethoscope.program.walk.values import Instance
from stethoscope.run import Fix, Level
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP113", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

HOOKS = frozenset({"training_step", "compute_loss"})  # give a framework the loss


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each backward pass whose loss has no graph."""
    for loop in loops:
        for backward in loop.of(Kind.BACKWARD):
            if (broken := _number_alone(loop, backward)) is not None:
                yield broken
                break
            met = passes(loop.trace, backward.subject)
            if not met or any(records(loop.trace, call) for call in met):
                continue
            if _is_for_others(loop, backward, met):
                continue
            if not asks_unknown_objects(loop.trace, backward.subject):
                yield Finding(
                    where=(backward.event.site.where, met[0].site.where),
                    message=f"{backward.event.site.text} has no graph to go through: {met[0].site.text} "
                    "runs where gradients are not recorded",
                    evidence={"forward": met[0].site.text, "line of forward": met[0].line},
                    proof="every network in the loss runs under no_grad or inference_mode",
                    fix=_recorded(loop, met, backward.event),
                )
                break
        yield from _in_hook(loop)
        switch = left_off(loop)
        if switch is not None:
            backward = loop.of(Kind.BACKWARD)[0]
            yield Finding(
                where=(switch.site.where, backward.event.site.where),
                message=f"{switch.site.text} holds on: nothing switches gradients on again before "
                f"{backward.event.site.text} of the next round",
                evidence={"switch": switch.site.text, "backward": backward.event.site.text},
                fix=_switched_inside(loop, switch, backward.event),
            )


def _is_for_others(loop: TrainingLoop, backward: Move, met: Sequence[Call]) -> bool:
    """Whether the update behind a backward pass is of tensors that belong to none of the networks it met.

    A temperature is learned from what a policy gives, and the policy is not to learn from it.
    """
    updates = {
        step.subject: step
        for path in loop.paths
        if backward in path.moves and (step := next(_updates_after(path.moves, backward), None)) is not None
    }
    made = [one for subject in updates for one in holder_of(loop.trace, subject) or (None,)]
    ran = [network_run(call) for call in met]
    networks = [made for network in ran if network is not None for made in unwrapped(network)]
    return (
        bool(made)
        and None not in ran
        and all(
            one is not None and one.is_known and not any(one.holds(loop.run, network) for network in networks)
            for one in made
        )
    )


def _updates_after(moves: Sequence[Move], backward: Move) -> Iterator[Move]:
    return (move for move in moves[moves.index(backward) + 1 :] if move.updates)


def _number_alone(loop: TrainingLoop, backward: Move) -> Finding | None:
    """`torch.tensor(loss, requires_grad=True).backward()`: the number is kept, and not how it came about."""
    made = made_anew(loop.run, backward.subject) if backward.subject is not None else None
    if made is None:
        return None
    return Finding(
        where=(made.where, backward.event.site.where),
        message=f"{backward.event.site.text} goes back to `{made.text}` and no further: that is a number, "
        "without the network that it was computed by",
        evidence={"cut": made.text},
        proof="a tensor that is made of a loss has no graph",
    )


def _in_hook(loop: TrainingLoop) -> Iterator[Finding]:
    """A framework goes back through the loss that a hook gives it: some network must have left a graph."""
    hook = loop.hook
    if hook is None or loop.of(Kind.BACKWARD) or not loop.trace.complete or "Parameter(" in hook.source.text:
        return
    met = [move.event for move in loop.of(Kind.FORWARD) if isinstance(move.event, Call)]
    if not _gives_something(hook):
        return  # a pass that only gathers: the framework goes back through nothing
    if met and hook.name in HOOKS and not any(records(loop.trace, call) for call in met):
        yield Finding(
            where=(met[0].site.where, hook.where()),
            message=f"the loss of {hook.spoken} has no graph to go through: {met[0].site.text} runs where "
            "gradients are not recorded",
            evidence={"forward": met[0].site.text, "line of forward": met[0].line},
            proof="every network that the hook runs is under no_grad or inference_mode",
            fix=_recorded(loop, met, met[0]),
        )


def _gives_something(hook: Function) -> bool:
    returned = (node.value for node in own_nodes(hook.node, ast.Return))
    return any(one is not None and not isinstance(one, ast.Constant) for one in returned)


def _recorded(loop: TrainingLoop, met: Sequence[Call], backward: Event) -> Fix | None:
    """What switches the gradients off taken away, where it is one `with` or one decorator."""
    if len({id(call.site.node) for call in met}) > 1:
        return None
    source, node = met[0].site.source, met[0].site.node
    around = [block[place] for block, place in blocks_around(source, node)]
    entered = [one for one in around if isinstance(one, ast.With) and _is_off(one.items[0].context_expr)]
    marked = [
        (function, mark)
        for function in (*met[0].within, *_forward(loop, met[0]))
        for mark in function.node.decorator_list
        if _is_off(mark)
    ]
    if len(entered) == 1 and not marked and len(entered[0].items) == 1:
        splice = without_header(source, entered[0])
        holds_all = any(one is backward.site.node for one in all_nodes(entered[0]))
    elif len(marked) == 1 and not entered:
        function, mark = marked[0]
        splice = without_decorator(function.source, mark)
        holds_all = any(one is backward.site.node for one in all_nodes(function.node))
    else:
        return None
    # A backward pass in there can never work; else the network may be frozen on purpose.
    level = Level.SAFE if holds_all else Level.UNSAFE
    return Fix("record gradients where the loss is made", level, (splice,)) if splice is not None else None


def _forward(loop: TrainingLoop, run: Call) -> Iterator[Function]:
    """The method that a network of the repository runs by."""
    network = network_run(run)
    method = loop.run.index.method(network.cls, "forward") if isinstance(network, Instance) else None
    yield from (method,) if method is not None else ()


def _is_off(node: ast.expr) -> bool:
    named = dotted(node.func if isinstance(node, ast.Call) else node) or ""
    return named.rpartition(".")[2] in {"no_grad", "inference_mode"} and not getattr(node, "args", ())


def _switched_inside(loop: TrainingLoop, switch: Call, backward: Event) -> Fix | None:
    """The function that switches the gradients off decorated instead, so that they come back behind it."""
    site = switch.site
    function = switch.within[-1] if switch.within else None
    if function is None or function in backward.within or site.source is not function.source:
        return None
    if loop.run.index.module_of(site.source).imports.get("torch") != "torch":
        return None
    block, position = blocks_around(site.source, site.node)[0]
    taken = cut(site.source, block, position) if block is function.node.body else None
    if taken is None:
        return None
    splices = (put_before(site.source, function.node, "@torch.no_grad()"), taken)
    return Fix(f"Switch gradients off in {function.name}() alone", Level.SAFE, splices)
