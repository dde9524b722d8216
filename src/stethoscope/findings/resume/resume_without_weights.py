"""A resumed run gets the state of its optimizer back, and not its weights.

## What it checks
Programs that read the state of an optimizer from a file before training: whether the weights of the network
are read, too, by `load_state_dict`, by a helper, an engine or a library. An average of the weights does not
count: it is another network.

## Why it matters
The network begins from new weights with the moments, the schedule and the count of steps of a trained one.
The loss goes back to where the run began, at a rate that has decayed, and never comes down again.

## When it is harmless
A load that could not be followed is taken to restore the weights.

## References
- torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.resume.checkpointing import without_weights
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES105", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each resume that leaves the network at its start."""
    if not resumes.walks:
        raise InsufficientData("no resume of a training was found in the source")
    seen: set[object] = set()
    for walk in resumes.walks:
        load = without_weights(walk)
        if load is None or load.site.node in seen:
            continue
        seen.add(load.site.node)
        yield Finding(
            load.site.where,
            "the resume restores the state of the optimizer and not the weights that it belongs to",
            evidence={"restored": load.site.text},
        )
