"""Gradients are recorded while the network is only measured.

## What it checks
Loops that run a network on held-out data: whether `torch.no_grad()` or `torch.inference_mode()` is around
them, as a `with`, as a decorator or as a switch before.

## Why it matters
Without it every activation of the evaluation is kept until its result is dropped. That costs memory and
time, and where results are collected, the graphs of all batches stay in memory together.

## When it is harmless
An evaluation that computes gradients itself (attacks, gradient penalties, saliency) needs them. The numbers
are the same either way. A context or decorator that is not known may switch gradients off: nothing is said.

## References
- torch.no_grad, torch.inference_mode
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import put_before
from stethoscope.program.evaluation.evaluations import Evaluation
from stethoscope.program.index import Function, Index
from stethoscope.program.loop.moves import Kind
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call, Scope
from stethoscope.program.walk.networks import is_made_here
from stethoscope.program.walk.values import Applied, Delayed
from stethoscope.run import Fix, Level
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA106", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

NEEDING = frozenset(
    {"backward", "grad", "enable_grad", "vjp", "jvp", "requires_grad_", "jacobian", "hessian", "adapt"}
)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each loop that evaluates with gradients switched on."""
    seen: set[ast.AST] = set()
    for evaluation in evaluations:
        loop = next((scope for scope in evaluation.region if scope.kind == "loop"), None)
        if loop is None or evaluation.gradients is not True or loop.node in seen:
            continue
        if not is_made_here(evaluation.network) or _needs_gradients(evaluation):
            continue
        seen.add(loop.node)
        function = _own_function(evaluation)
        named = f"{function.name}()" if function is not None else "the loop"
        yield Finding(
            evaluation.forward.event.site.where,
            f"{named} measures the network without torch.no_grad(), so every activation is kept",
            evidence={"forward": evaluation.forward.event.site.text, "function": named},
            fix=_fix(evaluations.index, evaluation, function),
        )


def _needs_gradients(evaluation: Evaluation) -> bool:
    """Whether something in the region computes gradients, or frees the graph by detaching each output."""
    around: set[int] = {id(scope) for scope in evaluation.region}
    return any(
        isinstance(event, Call) and event.name in NEEDING and any(id(s) in around for s in event.scopes())
        for event in evaluation.walk.trace.events
    )


def _own_function(evaluation: Evaluation) -> Function | None:
    """The function that does nothing but evaluate."""
    outermost: Scope | None = next((s for s in reversed(evaluation.region) if s.kind == "call"), None)
    functions = {id(function.node): function for function in evaluation.forward.event.within}
    return functions.get(id(outermost.node)) if outermost is not None else None


def _makes_a_loss(evaluation: Evaluation, function: Function) -> bool:
    """Whether training minimises what the function computes."""
    own = {id(node) for node in all_nodes(function.node)}
    run = evaluation.walk.trace.run
    losses = [move.subject for move in evaluation.walk.moves if move.kind is Kind.BACKWARD]
    made = (value for loss in losses for value in ancestry(run, loss))
    return any(isinstance(value, Applied | Delayed) and id(value.site.node) in own for value in made)


def _fix(index: Index, evaluation: Evaluation, function: Function | None) -> Fix | None:
    """Decorate the function, where its file knows torch by that name."""
    if function is None or index.module_of(function.source).imports.get("torch") != "torch":
        return None
    if any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in all_nodes(function.node)):
        return None  # the same function trains, by a switch
    if _makes_a_loss(evaluation, function):
        return None
    splice = put_before(function.source, function.node, "@torch.no_grad()")
    return Fix(f"Switch gradients off in {function.name}()", Level.SAFE, (splice,))
