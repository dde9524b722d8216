"""The average of the weights stays in the network that is trained.

## What it checks
Training loops that put an average into the network they train (`ema.copy_to(model.parameters())`,
`model.load_state_dict(ema.state_dict())`): whether the weights that were there come back before training
goes on. An average that goes in without being measured is taken for a choice, and only noted, unless it goes
in more often than it forgets: every 10 steps where it remembers 500.

## Why it matters
Training goes on from the average, and so does the average itself. The optimizer's state belongs to other
weights; every evaluation throws the run back, and the loss has a tooth at each of them. Where it comes often,
the weights never get further from their start than the average does, and training crawls.

## When it is harmless
Copies that are only measured, contexts that put the weights back, and networks that follow their average on
purpose, with a period of thousands of steps.

## References
- Li et al., Switch EMA: A Free Lunch for Better Flatness and Sharpness, 2024
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.evaluation.averages_by_hooks import put_in_by_hooks
from stethoscope.program.evaluation.averages_left_in import averages_left_in
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA142", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report averages that training goes on from."""
    by_hooks = list(put_in_by_hooks(evaluations.index))
    if not evaluations.walks and not evaluations.hooks and not by_hooks:
        raise InsufficientData("no training was found in the source")
    for one in by_hooks:
        yield Finding(
            (one.put_in.where, one.kept_up.where),
            "the average is put into the trained network for the evaluation and never taken out again",
            evidence={"put_in": one.put_in.text, "measured": True},
        )
    seen: set[object] = set()
    for walk in evaluations.walks:
        for left in averages_left_in(walk):
            if left.put_in.site.node in seen:
                continue
            seen.add(left.put_in.site.node)
            measured = (left.measured.site.where,) if left.measured is not None else ()
            why = (
                "for the evaluation and never taken out again" if measured else "and training goes on from it"
            )
            yield Finding(
                (left.put_in.site.where, *measured),
                f"the average is put into the trained network {why}",
                evidence={"put_in": left.put_in.site.text, "measured": bool(measured)},
                severity=None if measured or left.often else Severity.NOTE,
                strength=1.0 if measured or left.often else 0.5,
            )
