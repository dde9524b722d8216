"""Training goes on in evaluation mode, without dropout and with frozen batch statistics.

## What it checks
For each network that an optimizer trains: whether a `model.eval()` before the training loop, or in an
evaluation inside it, is still in force when the next batch is trained. Switches back are followed through
functions, context managers, `finally` and `model.train(was_training)`, on the way through and past each early
`return`. `model.train(not model.training)` counts as the other mode than the one before it.

## Why it matters
In evaluation mode dropout does nothing and batch norm uses the running statistics of the moment of the
switch, which no longer follow the weights. The network overfits, or its activations drift away from the
statistics it is normalised with, from the first evaluation on.

## When it is harmless
A network without dropout or batch norm acts the same in both modes. A network that no optimizer trains (a
teacher, a perceptual network, an averaged copy) belongs in evaluation mode. A branch that evaluates and
ends the program never returns to training. A backward pass whose gradients are cleared before the next
update (a saliency map, a probe) trains nothing. Switching only batch-norm layers off freezes them on purpose,
and so does switching the whole network off and a part of it, such as its head, on again right behind.

## References
- torch.nn.Module.train
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, is_name_chain, put_before
from stethoscope.program.evaluation.cut_short import ShortCut
from stethoscope.program.evaluation.doubtful_modes import may_switch
from stethoscope.program.evaluation.evaluations import Walk, called_network
from stethoscope.program.evaluation.modes_between_steps import left_between_steps
from stethoscope.program.evaluation.network_modes import (
    guards,
    is_open_mode,
    leads_out,
    mode_moves,
    turns_mode,
)
from stethoscope.program.evaluation.spent_gradients import runs_only_looked_at, runs_without_backward
from stethoscope.program.evaluation.trained_runs import innermost_round
from stethoscope.program.index import dotted
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import holder_of, is_of_plain_tensors
from stethoscope.program.loop.whole_trainings import makes_its_network
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Event, Scope
from stethoscope.program.walk.networks import are_related, has_two_modes, holds, networks, trained_by
from stethoscope.program.walk.values import Value
from stethoscope.run import Fix, Level
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """An event that switches the mode of a network, and how; `move` is None where that is not known."""

    event: Event
    move: Move | None


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each switch to evaluation that is still in force when training goes on."""
    seen: set[ast.AST] = set()
    for walk in evaluations.walks:
        for forward in _training_runs(walk):
            network = called_network(forward)
            switch = _still_in_force(walk, forward, network)
            if switch is None or switch.event.site.node in seen:
                continue
            if not has_two_modes(walk.trace.run, network) or not _is_trained(walk, forward, network):
                continue
            if _is_partly_frozen(walk, forward, switch):
                continue
            seen.add(switch.event.site.node)
            yield Finding(
                (switch.event.site.where, forward.event.site.where),
                f"{_name(forward)} is put into evaluation mode here and trained further without .train()",
                evidence={"switch": switch.event.site.text, "trained_by": forward.event.site.text},
                fix=_fix(switch, forward),
            )
    for walk in evaluations.hooks:
        yield from _left_by_hook(walk)
    for left in left_between_steps(evaluations.index, evaluations.settings):
        yield Finding(
            (left.switch.where, left.look.where),
            f"{left.name} is put into evaluation mode here, between two steps, and trained further so",
            evidence={"switch": left.switch.text, "look": left.look.text},
        )


def _left_by_hook(walk: Walk) -> Iterator[Finding]:
    """What a step of a framework's training switches for a look at its output, and leaves so."""
    runs = [move for move in walk.moves if move.kind is Kind.FORWARD]
    for switch in walk.moves:
        if switch.kind is not Kind.EVAL_MODE or is_open_mode(switch):
            continue
        here = walk.place(switch.event)
        later = [m for m in mode_moves(walk, switch.subject) if walk.place(m.event) > here]
        if any(m.kind is Kind.TRAIN_MODE or is_open_mode(m) for m in later):
            continue
        reached = [m for m in runs if holds(switch.subject, called_network(m))]
        trained = [m for m in reached if not without_gradients(m.event)]
        # Without a look at its output right after, it is frozen on purpose.
        after = [m for m in reached if walk.place(m.event) > here]
        is_look = bool(after) and without_gradients(after[0].event)
        if trained and is_look and has_two_modes(walk.trace.run, called_network(trained[0])):
            yield Finding(
                (switch.event.site.where, trained[0].event.site.where),
                f"{_name(trained[0])} is put into evaluation mode here and trained further without .train()",
                evidence={"switch": switch.event.site.text, "trained_by": trained[0].event.site.text},
            )
            return


def _name(forward: Move) -> str:
    node = forward.event.site.node
    return (dotted(node.func) or "the network") if isinstance(node, ast.Call) else "the network"


def _training_runs(walk: Walk) -> Iterator[Move]:
    """The runs of networks that gradients may come from, inside a loop that trains."""
    evaluated = {id(evaluation.forward) for evaluation in walk.evaluations}
    looked_at = runs_only_looked_at(walk) | runs_without_backward(walk)
    for move in walk.moves:
        if move.kind is not Kind.FORWARD or id(move) in evaluated or without_gradients(move.event):
            continue
        if id(move.event) in looked_at:
            continue
        around = innermost_round(move.event)
        is_beside = around is not None and id(around) in walk.training_scopes and not walk.knows_what_trains
        # A loop of its own, such as one over held-out data, trains only where a loss comes out of it.
        if is_beside or id(move.event) in walk.trained:
            yield move


def _steps_of(walk: Walk, forward: Move) -> list[Move]:
    """The updates in the rounds of a run; all there are where those have none."""
    steps = [move for move in walk.moves if move.updates]
    around = innermost_round(forward.event)
    return [step for step in steps if any(one is around for one in step.event.scopes())] or steps


def _is_partly_frozen(walk: Walk, forward: Move, switch: Move) -> bool:
    """Whether training, behind a switch in its own function, is of the weights alone that are not frozen."""
    within = forward.event.within[-1:]
    if not within or switch.event.within[-1:] != within:
        return False
    made = [one for step in _steps_of(walk, forward) for one in holder_of(walk.trace, step.subject)]
    return bool(made) and all(_picks_unfrozen(one.call.site.node) for one in made)


def _picks_unfrozen(made: ast.AST) -> bool:
    """`Adam(filter(lambda p: p.requires_grad, net.parameters()))`."""
    return any(isinstance(node, ast.Attribute) and node.attr == "requires_grad" for node in all_nodes(made))


def _is_trained(walk: Walk, forward: Move, network: Value | None) -> bool:
    """Whether an optimizer holds its parameters; where none was seen being made, whether it is alone."""
    steps = _steps_of(walk, forward)
    answers = [trained_by(walk.trace.run, move.subject, network) for move in steps]
    if any(answers) or False in answers:
        return any(answers)
    made = [holder for step in steps for holder in holder_of(walk.trace, step.subject) or (None,)]
    if made and all(one is not None and is_of_plain_tensors(one) for one in made):
        return False  # a code, an input or a mask is searched for, and the network only answers
    run = {id(n) for move in _training_runs(walk) for n in networks(called_network(move))}
    return bool(steps) and len(run) == 1


def _still_in_force(walk: Walk, forward: Move, network: Value | None) -> Move | None:
    """The switch to evaluation that a run in training follows, in the first round or in a later one."""
    switches = tuple(_switches(walk, network))
    if not any(_is_sure(switch, Kind.EVAL_MODE) or _is_turn(switch) for switch in switches):
        return None
    found = _on_one_way(walk, switches, forward.event)
    for way in _shorter_ways(walk, switches, forward.event) if found is None else ():
        found = found or _on_one_way(walk, switches, forward.event, way)
    return found


def _switches(walk: Walk, network: Value | None) -> Iterator[Switch]:
    """What switches the mode of a network, in order, with the doubtful ones."""
    sure = {id(move.event): move for move in mode_moves(walk, network, is_exact=True)}
    related = {id(move.event) for move in mode_moves(walk, network)}
    doubtful = {id(doubt[0]) for doubt in walk.doubtful_switches if may_switch(doubt, network)}
    doubtful |= _by_parts(walk, network)
    for event in walk.trace.events:
        if id(event) in sure:
            yield Switch(event, sure[id(event)])
        elif id(event) in related or id(event) in doubtful:
            yield Switch(event, None)


def _by_parts(walk: Walk, network: Value | None) -> set[int]:
    """The switches of several parts to training, which may be all that have two modes."""
    parts = [
        move
        for move in walk.moves
        if move.kind is Kind.TRAIN_MODE and holds(network, move.subject) and not holds(move.subject, network)
    ]
    several = len({id(move.subject) for move in parts}) > 1
    return {id(move.event) for move in parts} if several else set()


def _is_sure(switch: Switch, kind: Kind) -> bool:
    return switch.move is not None and switch.move.kind is kind and not is_open_mode(switch.move)


def _is_turn(switch: Switch) -> bool:
    return switch.move is not None and turns_mode(switch.move)


def _shorter_ways(walk: Walk, switches: Sequence[Switch], forward: Event) -> Iterator[ShortCut]:
    """The jumps between a switch to evaluation and the switch back that they leave out."""
    places = [walk.place(switch.event) for switch in switches]
    for way in walk.short_cuts:
        here = walk.place(way.jump)
        if walk.place(forward) > here and way.skips(forward):
            continue  # it leaves the run out as well
        skipped = [
            s for s, place in zip(switches, places, strict=True) if place > here and way.skips(s.event)
        ]
        before = [s for s, place in zip(switches, places, strict=True) if place < here]
        is_asleep = bool(before) and _is_sure(before[-1], Kind.EVAL_MODE)
        if skipped and is_asleep and not way.excludes(before[-1].event):
            yield way


def _on_one_way(
    walk: Walk, switches: Sequence[Switch], forward: Event, way: ShortCut | None = None
) -> Move | None:
    here = walk.place(forward)
    if way is not None:
        end = walk.place(way.jump)
        switches = [s for s in switches if walk.place(s.event) < end or not way.skips(s.event)]
    before = [switch for switch in switches if walk.place(switch.event) < here]
    found = _pending(walk, before, forward, way)
    if found is not None and _is_kept_on_purpose(walk, found):
        found = None
    for loop in _gone_round(forward, way):
        if found is None and not makes_its_network(walk.trace, walk.moves, loop):
            later = [s for s in switches if walk.place(s.event) > here and _is_inside(s.event, loop)]
            again = [s for s in before if _is_inside(s.event, loop)]
            found = _pending(walk, [*later, *again], forward, way)
    return found


def _gone_round(forward: Event, way: ShortCut | None) -> Iterator[Scope]:
    """The loops that come back to a run: not those that a `break` or `return` leaves for good."""
    scopes = list(forward.scopes())
    if way is not None and way.jump.kind != "continue":
        left = next((place for place, scope in enumerate(scopes) if scope is way.leaves), -1)
        scopes = scopes[left + 1 :]
    yield from (scope for scope in scopes if scope.kind in {"loop", "comprehension"})


def _is_kept_on_purpose(walk: Walk, switch: Move) -> bool:
    """Whether a part is switched to training right behind: `net.eval()` and `net.fc.train()`."""
    start = walk.position.get(id(switch.event))
    if start is None:  # the switch was met on another walk
        return False
    for move in walk.moves:
        if walk.position.get(id(move.event), -1) <= start:
            continue
        if move.kind is Kind.FORWARD and are_related(switch.subject, called_network(move)):
            return False
        if move.kind is Kind.TRAIN_MODE and _is_of_part(move, switch):
            return True
    return False


def _is_of_part(move: Move, switch: Move) -> bool:
    """Whether a switch is of a part of the network that another one switches, by value or by name."""
    if holds(switch.subject, move.subject) and not holds(move.subject, switch.subject):
        return True
    whole, part = _switched(switch), _switched(move)
    return move.event.within == switch.event.within and bool(whole) and part.startswith(f"{whole}.")


def _switched(move: Move) -> str:
    """What a switch is called on, as written."""
    node = move.event.site.node
    return (dotted(node.func) or "").rpartition(".")[0] if isinstance(node, ast.Call) else ""


def _is_inside(event: Event, loop: Scope) -> bool:
    return any(scope is loop for scope in event.scopes())


def _pending(
    walk: Walk, switches: Sequence[Switch], forward: Event, way: ShortCut | None = None
) -> Move | None:
    """The switch to evaluation that no switch to training surely follows."""
    pending: Move | None = None
    taken = guards(way.jump, forward) if way is not None else frozenset()
    for switch in switches:
        move = switch.move
        if move is not None and _is_sure(switch, Kind.EVAL_MODE):
            is_lost = walk.place(move.event) < walk.place(forward) and leads_out(walk, move.event, forward)
            pending = pending if is_lost else move
        elif move is not None and turns_mode(move):
            pending = move if pending is None else None
        elif pending is not None:
            around = guards(pending.event, forward) | taken
            is_sure = _is_sure(switch, Kind.TRAIN_MODE) and not _puts_back(switch.event)
            if not is_sure or guards(switch.event, forward) <= around or _is_either(switch.event, pending):
                pending = None
    return pending


def _puts_back(switch: Event) -> bool:
    """`if was_training: net.train()`, with `was_training = net.training` from before."""
    asked = next((scope.node for scope in switch.scopes() if scope.kind == "if"), None)
    function = switch.within[-1].node if switch.within else switch.site.source.tree
    if isinstance(asked, ast.Attribute):
        return asked.attr == "training"
    kept = (one for one in all_nodes(function, ast.Assign) if isinstance(asked, ast.Name))
    return any(
        getattr(one.targets[0], "id", "") == getattr(asked, "id", None)
        and any(inner.attr == "training" for inner in all_nodes(one.value, ast.Attribute))
        for one in kept
    )


def _is_either(switch: Event, pending: Move) -> bool:
    """Whether two switches are the two branches of one condition."""
    nodes = {id(s.node): s.arm for s in pending.event.scopes() if s.kind == "if"}
    return any(s.kind == "if" and nodes.get(id(s.node), s.arm) is not s.arm for s in switch.scopes())


def _fix(switch: Move, forward: Move) -> Fix | None:
    """Switch back before the loop that trains, or in each round where the switch is inside it."""
    node = forward.event.site.node
    loop = next((s for s in forward.event.scopes() if s.kind in {"loop", "call"}), None)
    if not isinstance(node, ast.Call) or not is_name_chain(node.func) or loop is None or loop.kind != "loop":
        return None
    around = blocks_around(loop.source, loop.node)
    body = getattr(loop.node, "body", [])
    if not around or not body:
        return None
    holder, position = around[0]
    statement = body[0] if _is_inside(switch.event, loop) else holder[position]
    name = dotted(node.func) or ""
    splice = put_before(loop.source, statement, f"{name}.train()")
    return Fix(f"Switch {name} back to training before it is trained", Level.UNSAFE, (splice,))
