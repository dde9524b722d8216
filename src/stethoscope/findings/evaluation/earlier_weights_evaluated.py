"""The validation of a training measures weights from an earlier step of it.

## What it checks
Evaluations in the training loop whose network is not the one that is trained and gets its weights from a
file. Reported is a file that only a better score of this very evaluation writes again (`best.pt` is loaded,
measured, and kept until it beats itself), and the first of the files that are found, by name or by age.

## Why it matters
The score stands still after its first value, whatever training does. The best checkpoint, early stopping and
schedules that wait for a plateau follow a number that says nothing of the network.

## When it is harmless
The best so far measured beside the network, or after training. A file that the loop writes in any case
before it is read, and the newest of many.

## References
- torch.load, torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.earlier_weights import earlier_weights
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA410", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)

WHY = {
    "record": "is measured here, and only a better score of it writes that file again",
    "first": "is measured here: the first of the files, however long training goes on",
}


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each load that keeps an evaluation at an earlier step."""
    seen: set[object] = set()
    for walk in evaluations.walks:
        for found in earlier_weights(walk):
            if found.load.node not in seen:
                seen.add(found.load.node)
                yield Finding(
                    (found.load.where, found.beside.where),
                    f"`{found.what}` {WHY[found.kind]}",
                    evidence={"file": found.what, "kind": found.kind},
                )
