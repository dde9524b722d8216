"""An average of the weights is kept, and the validation measures the raw ones.

## What it checks
Training loops that update an average of the weights (EMA, SWA), by a class for it or by hand: whether any
evaluation in the program runs the average, puts its weights into the network first, or speaks of it. Where
nothing is evaluated, whether what is sampled or saved is made from it.

## Why it matters
The average is what will be used, and it can be far from the raw weights: better once it has caught up,
useless while its horizon is longer than the run. A validation of the raw weights sees neither, and chooses
the best checkpoint for the wrong network.

## When it is harmless
Where the average is measured beside the raw weights, or swapped in and out around the validation. An
average that the loss itself runs (a teacher, a target network) is not the result of the training, and not
judged.

## References
- torch.optim.swa_utils.AveragedModel
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.known_names import name_at
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.evaluation.averages import (
    average_updates,
    chosen_at,
    is_swapped_in,
    is_teacher,
    measures_average,
)
from stethoscope.program.evaluation.averages_by_hand import drawings
from stethoscope.program.evaluation.choosing import Choosing
from stethoscope.program.evaluation.evaluations import Evaluation, Walk
from stethoscope.program.evaluation.framework_averages import unmeasured_averages
from stethoscope.program.evaluation.saved_weights import raw_instead_of_measured
from stethoscope.program.evaluation.unused_averages import raw_results
from stethoscope.program.loop.moves import same_object
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.values import Applied, Instance, Site, Value
from stethoscope.run import Fix, Level, Where
from stethoscope.signals.evaluations import Evaluations

# Averages of libraries, and where they keep the network.
RUNNABLE = {"AveragedModel": "", "ModelEmaV2": ".module", "ModelEmaV3": ".module", "ModelEMA": ".ema"}

RULE = Rule(code="EVA104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report the evaluation of a training that keeps an average and never measures it."""
    for walk in evaluations.walks:
        for choosing in raw_instead_of_measured(walk):
            yield _not_what_was_measured(choosing)
            return
        updates = average_updates(walk)
        if not updates or is_teacher(walk) or is_swapped_in(walk):
            continue
        measured = _validations(walk)
        if measured and not any(measures_average(evaluation) for evaluation in walk.evaluations):
            yield _unmeasured(measured[0], updates[0])
            return
        results = raw_results(walk) if not measured else ()
        if results:
            yield _unused(results, updates[0])
            return
    for found in unmeasured_averages(evaluations.index):
        yield Finding(
            (*(site.where for site in found.measured), found.made.where),
            "the raw weights are validated, while training keeps an average that nothing evaluates",
            evidence={"average": found.made.text},
        )


def _unmeasured(evaluation: Evaluation, update: Event) -> Finding:
    sites = chosen_at(evaluation)
    return Finding(
        (*(site.where for site in sites), *_loop(evaluation), update.site.where),
        "the raw weights are measured here, while training keeps an average that nothing evaluates",
        evidence={"evaluated": sites[0].text, "average": update.site.text},
        fix=_fix(evaluation, sites[0], update),
    )


def _not_what_was_measured(choosing: Choosing) -> Finding:
    return Finding(
        (choosing.save.site.where, choosing.source.where(choosing.comparison)),
        f"the raw weights are saved here, while `{choosing.text}`, which decides on it, is of their average",
        evidence={"saved": choosing.save.site.text, "compared": ast.unparse(choosing.comparison)},
    )


def _unused(results: tuple[Event, ...], update: Event) -> Finding:
    return Finding(
        (*dict.fromkeys(result.site.where for result in results), update.site.where),
        "the raw weights are the result here, while training keeps an average that nothing uses",
        evidence={"result": results[0].site.text, "average": update.site.text},
    )


def _validations(walk: Walk) -> list[Evaluation]:
    """The evaluations inside the loop that trains."""
    return [
        evaluation
        for evaluation in walk.evaluations
        if any(s.kind == "loop" and id(s) in walk.training_scopes for s in evaluation.forward.event.scopes())
    ]


def _loop(evaluation: Evaluation) -> Iterator[Where]:
    """The loop over the held-out data, where the network runs in a function that training shares."""
    loops = [scope for scope in evaluation.region if scope.kind == "loop"]
    yield from (scope.source.where(scope.node) for scope in loops[:1])


def _fix(evaluation: Evaluation, measured: Site, update: Event) -> Fix | None:
    """The average measured in the place of the network, where it has a name there."""
    walk, node = evaluation.walk, measured.node
    called = next((e for e in walk.trace.events if isinstance(e, Call) and e.site.node is node), None)
    average = _averaged_network(walk, update)
    if called is None or average is None or not isinstance(node, ast.Call):
        return None
    value, inside = average
    name = name_at(walk, value, called)
    if called is evaluation.forward.event or node is evaluation.forward.event.site.node:
        network: ast.expr | None = node.func if _runs_once(evaluation, node) else None
    else:
        given = zip(node.args, called.args, strict=False)
        network = next((one for one, held in given if same_object(held, evaluation.network)), None)
    if not name or network is None or not is_name_chain(network):
        return None
    splice = replaced(measured.source, network, f"{name}{inside}")
    return Fix("measure the average", Level.UNSAFE, (splice,)) if splice is not None else None


def _runs_once(evaluation: Evaluation, run: ast.Call) -> bool:
    """Whether the function around has no other run of the network, which would stay as it is."""
    event = evaluation.forward.event
    inside = event.within[-1].node if event.within else event.site.source.tree
    if inside is event.site.source.tree:
        return True  # training runs it there as well
    runs = all_nodes(inside, ast.Call)
    return sum(ast.unparse(one.func) == ast.unparse(run.func) for one in runs) == 1


def _averaged_network(walk: Walk, update: Event) -> tuple[Value, str] | None:
    """The object that keeps an average, and the way from it to a network that can be run."""
    drawn = next((one.average for one in drawings(walk) if one.event is update), None)
    if drawn is not None:
        return drawn, ""
    value = update.receiver if isinstance(update, Call) else None
    if isinstance(value, Applied):
        inside = RUNNABLE.get(value.callee.rpartition(".")[2])
        return (value, inside) if inside is not None else None
    if isinstance(value, Instance):
        copies = [name for name, held in value.attributes.items() if _is_copy(held)]
        return (value, f".{copies[0]}") if len(copies) == 1 else None
    return None


def _is_copy(value: Value) -> bool:
    """`copy.deepcopy(model)`, also behind `.eval()` and the like."""
    while isinstance(value, Applied) and value.callee.startswith(".") and value.args:
        value = value.args[0]
    return isinstance(value, Applied) and value.callee == "copy.deepcopy"
