"""A resumed run gets the state of its optimizer back, and not its weights.

## What it checks
Programs that read the state of an optimizer from a file before training: whether the weights of the network
are read, too, by `load_state_dict`, by a helper, an engine or a library. An average of the weights does not
count: it is another network. With several networks each is asked for: one whose optimizer is restored, which
the program saves under a name of its own, and whose entry nothing reads, is left behind.

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
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.resume.abandoned_weights import abandoned_weights
from stethoscope.program.resume.checkpointing import without_weights
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES105", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each resume that leaves the network at its start."""
    if not resumes.walks:
        raise InsufficientData("no resume of a training was found in the source")
    seen: set[object] = set()
    for walk in resumes.walks:
        for found in _in_walk(walk):
            if found.where not in seen:
                seen.add(found.where)
                yield found


def _in_walk(walk: Walk) -> Iterator[Finding]:
    load = without_weights(walk)
    if load is not None:
        yield Finding(
            load.site.where,
            "the resume restores the state of the optimizer and not the weights that it belongs to",
            evidence={"restored": load.site.text},
        )
        return
    for one in abandoned_weights(walk):
        yield Finding(
            one.optimizer.site.where,
            f"the resume restores the state of this optimizer and not the weights of {one.network.cls.name} "
            f"that it belongs to: nothing asks the checkpoint for {one.entry!r}",
            evidence={"restored": one.optimizer.site.text, "entry": one.entry},
            proof="the entry is written, and its name stands nowhere else in the source",
        )
