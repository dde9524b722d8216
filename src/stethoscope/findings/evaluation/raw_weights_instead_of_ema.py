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

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.averages import (
    average_updates,
    chosen_at,
    is_swapped_in,
    is_teacher,
    measures_average,
)
from stethoscope.program.evaluation import Evaluation, Walk
from stethoscope.program.events import Event
from stethoscope.program.framework_averages import unmeasured_averages
from stethoscope.program.unused_averages import raw_results
from stethoscope.run import Where
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report the evaluation of a training that keeps an average and never measures it."""
    for walk in evaluations.walks:
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
