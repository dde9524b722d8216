"""The validation runs a copy of the network that was made before training and never changes.

## What it checks
Which network each evaluation inside the training loop runs. Reported is a copy (`copy.deepcopy`) that was
made in front of the loop from a network that is trained, where nothing in the loop writes to the copy and no
evaluation runs anything else.

## Why it matters
The scores are those of the weights that training began with: they stand still however well the network
learns. The best checkpoint, early stopping and schedules that wait for a plateau follow a number that says
nothing.

## When it is harmless
A copy that is drawn after the weights (EMA), that gets them by `load_state_dict`, or that is made anew for
each evaluation is not reported; nor is one that is measured beside the network, as a teacher or a baseline
is.

## References
- Python documentation: copy.deepcopy
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.frozen_copies import frozen_copies
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA175", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report the evaluation of a copy that nothing writes to."""
    for walk in evaluations.walks:
        for found in frozen_copies(walk):
            run = found.evaluation.forward.event.site
            yield Finding(
                (run.where, found.made_at.where),
                "a copy of the network from before training is measured here, and nothing updates it",
                evidence={"measured": run.text, "copied": found.made_at.text},
            )
            return
