"""One channel is copied, and each copy gets noise of its own.

## What it checks
The noise that a network's input gets in training: whether it is drawn in the shape of something that was
repeated along its channels. The same in the functions that make samples, where copies of one channel are
gathered with noise each.

## Why it matters
Independent noise on copies of one picture is as good as several exposures: the network learns to average
them, which removes half of the noise with four copies. Real data has one exposure. The network is good in
training and poor in use.

## When it is harmless
Copying after the noise was added gives every copy the same noise. Two noisy views that a network gets one at
a time, to be held against each other, are no channels of one input. A grey picture repeated to three channels
for a pretrained network, without noise or with the noise before, is a usual thing.

## References
- the origin of the diffusion-prior case of the clinic, where copying was proposed as a cure
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.replicas import ChannelReplicas

RULE = Rule(code="DAT104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(replicas: ChannelReplicas) -> Iterator[Finding]:
    """Report each channel that is copied before noise is drawn."""
    for found in replicas.seen.found:
        times = f"repeated {found.count} times" if found.count else "copied"
        share = f"{1 / found.count**0.5:.2f}" if found.count else "less and less"
        yield Finding(
            where=(found.repeated.where, found.noise.where),
            message=f"one channel is {times}, and each copy gets noise of its own",
            evidence={"copies": found.count, "repeated": found.repeated.text, "noise": found.noise.text},
            proof=f"{found.count or 'many'} independent draws average to {share} of the noise",
        )
