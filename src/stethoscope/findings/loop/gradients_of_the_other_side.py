"""Two networks are trained against each other, and one steps with gradients of the other's loss.

## What it checks
Loops with an optimizer for each of two networks whose losses both go through both of them: whether the
backward pass of the first loss leaves gradients in the second network, by a sample that is not detached,
that nothing clears before the second network makes its own step.

## Why it matters
A discriminator's loss tells the generator how to be found out. Added to the generator's own gradients it
takes back what those ask for: the generator hardly moves, or learns to help its opponent.

## When it is harmless
Samples that are detached, or made under `no_grad`. Clearing the second network's gradients before its own
backward pass takes what was left away, however the samples were made. Networks that are switched off
(`requires_grad_(False)`) get no gradients. Losses that are gone back from before either network steps may
well be meant to be added.

## References
- Goodfellow et al., Generative Adversarial Nets, 2014, algorithm 1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.leaked_gradients import leaked_gradients
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP946", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each backward pass whose gradients the other network steps with."""
    told: set[int] = set()
    for loop in loops:
        for leak in leaked_gradients(loop):
            site, step = leak.backward.event.site, leak.step.event.site
            if id(site.node) in told:
                continue
            told.add(id(site.node))
            yield Finding(
                (site.where, step.where),
                f"{site.text} leaves gradients in {leak.network} too, and nothing clears them before "
                f"{step.text}",
                evidence={"backward": site.text, "step": step.text, "network": leak.network},
            )
