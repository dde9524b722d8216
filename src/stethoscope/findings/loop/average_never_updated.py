"""An average of the weights is made and used, and nothing ever updates it.

## What it checks
Averages of weights that a training makes: objects of a class that blends weights, torch's AveragedModel and
those of the libraries. Whether the walk through the training meets a call that moves them, or anything in
the source names one, where the average is looked into elsewhere: validated, saved, or put into the network.

## Why it matters
The average stays at the weights that the network began with. The training loss falls, and what is validated
and kept has learnt nothing.

## When it is harmless
An average that nothing uses. One that is handed to a trainer or a callback outside of the program, which
may move it. One that begins late moves all the same. Programs that could not be followed to their end are
left alone.

## References
- torch.optim.swa_utils.AveragedModel.update_parameters
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.unmoved_averages import unmoved_averages
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP189", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each average that stays where it began."""
    told: set[Where] = set()
    for loop in loops:
        for found in unmoved_averages(loop):
            if found.site.where in told:
                continue
            told.add(found.site.where)
            yield Finding(
                (found.site.where, found.used.where),
                f"{found.name} averages the weights and is used as {found.used.text}, "
                f"and nothing calls its {found.method}()",
                evidence={"average": found.name, "method": found.method},
                proof="the training was followed to its end, and no call that moves the average is in it",
            )
