"""The network is measured in training mode, with dropout and batch statistics active.

## What it checks
Each run of a network on held-out data: whether `model.eval()` was the last switch of its mode before it, in
the evaluating function, in its caller, in a context manager or in an object that holds the network.

## Why it matters
In training mode dropout removes random units, and batch norm uses the statistics of the batch at hand and
learns from it. The score is noisy and too low, depends on the batch size of the validation, and the
validation data leak into the running statistics.

## When it is harmless
A network without dropout, batch norm or anything else that asks `self.training` acts the same in both
modes. Where the network could not be followed to where it was made, or something that is not in the source
gets it to switch its mode, nothing is said. Lightning and the Hugging Face Trainer switch the mode
themselves.

## References
- torch.nn.Module.eval
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, put_before
from stethoscope.program.evaluation.doubtful_modes import may_switch
from stethoscope.program.evaluation.evaluations import Evaluation
from stethoscope.program.evaluation.network_modes import guards, is_copied_asleep, is_open_mode, mode_moves
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.networks import are_related, has_two_modes, is_from_pretrained, is_made_here
from stethoscope.program.walk.values import FunctionValue, Instance
from stethoscope.run import Fix, Level, Where
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA101", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

SWITCHING = frozenset({"eval", "mode", "evaluate", "inference", "freeze", "modes", "evaluation"})


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each evaluation that runs a network with two modes in training mode."""
    seen: set[ast.AST] = set()
    if not any(True for _ in evaluations):
        raise InsufficientData("no evaluation of a network was found in the training source")
    for evaluation in evaluations:
        place = evaluation.forward.event.site
        if place.node in seen or not _runs_in_training_mode(evaluation):
            continue
        if _asks_for_losses(evaluation):
            continue
        seen.add(place.node)
        function = evaluation.function
        named = f"{function.name}()" if function is not None else "the evaluation"
        where = (place.where, function.where()) if function is not None else (place.where,)
        yield Finding(
            (*where, *_switched_on(evaluation)),
            f"{named} runs {_spoken(evaluation)} in training mode: its dropout or batch norm stays active",
            evidence={"forward": place.text, "function": named},
            fix=_fix(evaluation),
        )


def _asks_for_losses(evaluation: Evaluation) -> bool:
    """Whether a network is given targets and answers with losses, as detectors do in training alone.

    `losses = detector(images, targets)` and `sum(losses.values())`.
    """
    call = evaluation.forward.event.site.node
    if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) < 2:
        return False
    tree = evaluation.forward.event.site.source.tree
    given = [one for one in all_nodes(tree, ast.Assign) if one.value is call]
    tables = {target.id for one in given for target in one.targets if isinstance(target, ast.Name)}
    sums = [one for one in all_nodes(tree, ast.Call) if dotted(one.func) in {"sum", "torch.stack"}]
    return any(
        isinstance(one.func, ast.Attribute) and one.func.attr == "values" and dotted(one.func.value) in tables
        for total in sums
        for one in all_nodes(total, ast.Call)
    )


def _spoken(evaluation: Evaluation) -> str:
    node = evaluation.forward.event.site.node
    return (dotted(node.func) or "the network") if isinstance(node, ast.Call) else "the network"


def _runs_in_training_mode(evaluation: Evaluation) -> bool:
    walk, forward, network = evaluation.walk, evaluation.forward.event, evaluation.network
    if not has_two_modes(walk.trace.run, network) or _is_handed_to_switch(evaluation):
        return False
    here = walk.place(forward)
    switches = [m for m in walk.moves if m.kind in {Kind.TRAIN_MODE, Kind.EVAL_MODE}]
    related = [m for m in switches if are_related(m.subject, network)]
    sure = [m for m in mode_moves(walk, network, is_exact=True) if _is_sure_training(m, evaluation)]
    last = max((walk.place(m.event) for m in sure), default=-1)
    if last < 0 and (is_from_pretrained(network) or not is_made_here(network)):
        return False
    if last < 0 and is_copied_asleep(walk, network):
        return False
    doubtful = [m.event for m in related if m.kind is Kind.EVAL_MODE or is_open_mode(m)]
    doubtful += [doubt[0] for doubt in walk.doubtful_switches if may_switch(doubt, network)]
    if any(last < walk.place(event) < here for event in doubtful):
        return False
    return _is_set_each_round(evaluation, last) or not any(_comes_round(e, evaluation) for e in doubtful)


def _switched_on(evaluation: Evaluation) -> Iterator[Where]:
    """The `model.train()` inside the evaluation itself, if there is one."""
    inside = {id(scope) for scope in evaluation.region}
    for move in mode_moves(evaluation.walk, evaluation.network, is_exact=True):
        is_inside = any(id(scope) in inside for scope in move.event.scopes())
        if is_inside and _is_sure_training(move, evaluation):
            yield move.event.site.where


def _is_sure_training(move: Move, evaluation: Evaluation) -> bool:
    forward = evaluation.forward.event
    is_before = evaluation.walk.place(move.event) < evaluation.walk.place(forward)
    return (
        move.kind is Kind.TRAIN_MODE
        and not is_open_mode(move)
        and is_before
        and not guards(move.event, forward)
    )


def _is_set_each_round(evaluation: Evaluation, last: int) -> bool:
    """Whether the last switch to training is in the same loop as the evaluation."""
    if last < 0:
        return False
    around = {id(scope) for scope in evaluation.forward.event.scopes() if scope.kind == "loop"}
    return any(id(scope) in around for scope in evaluation.walk.trace.events[last].scopes())


def _comes_round(switch: Event, evaluation: Evaluation) -> bool:
    """Whether a switch after the evaluation is met before it in the next round."""
    forward = evaluation.forward.event
    around = {id(scope) for scope in forward.scopes() if scope.kind == "loop"}
    is_after = evaluation.walk.place(switch) > evaluation.walk.place(forward)
    return is_after and any(id(scope) in around for scope in switch.scopes())


def _is_handed_to_switch(evaluation: Evaluation) -> bool:
    """Whether something outside the source gets the network and may switch its mode."""
    for event in evaluation.walk.trace.events[: evaluation.walk.place(evaluation.forward.event)]:
        if not isinstance(event, Call) or not SWITCHING & set(words(event.name)):
            continue
        if isinstance(event.callee, FunctionValue) or isinstance(event.receiver, Instance):
            continue
        if any(are_related(value, evaluation.network) for value in (*event.args, *event.keywords.values())):
            return True
    return False


def _fix(evaluation: Evaluation) -> Fix | None:
    """Switch before the loop that evaluates, where training switches back by itself."""
    name = _spoken(evaluation)
    loop = next((s for s in reversed(evaluation.region) if s.kind in {"loop", "with"}), None)
    if any(id(scope.node) in evaluation.walk.training_nodes for scope in evaluation.region):
        return None  # the same code trains
    if loop is None or name == "the network" or not _switches_back(evaluation) or _is_local(name, loop):
        return None
    around = blocks_around(loop.source, loop.node)
    if not around:
        return None
    block, position = around[0]
    splice = put_before(loop.source, block[position], f"{name}.eval()")
    return Fix(f"Switch {name} to evaluation before it is measured", Level.SAFE, (splice,))


def _switches_back(evaluation: Evaluation) -> bool:
    around = {id(s) for s in evaluation.forward.event.scopes() if s.kind == "loop"}
    switches = mode_moves(evaluation.walk, evaluation.network, is_exact=True)
    return any(m.kind is Kind.TRAIN_MODE and any(id(s) in around for s in m.event.scopes()) for m in switches)


def _is_local(name: str, loop: Scope) -> bool:
    """Whether the name is only made inside the loop."""
    targets = (n for n in all_nodes(loop.node, ast.Name) if isinstance(n.ctx, ast.Store))
    return any(node.id == name.partition(".")[0] for node in targets)
