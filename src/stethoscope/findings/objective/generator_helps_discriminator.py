"""Generator and discriminator pull the same way.

## What it checks
Networks that judge data and what another network made: which way each loss pushes the judgement, by
computing the loss with larger and smaller judgements in its place. The discriminator must push generated
samples the other way than real ones, and the generator must push its samples the other way than the
discriminator does.

## Why it matters
With a sign or a label turned round the generator is rewarded for being found out. The discriminator's loss
falls to zero, the samples get worse, and it looks like a discriminator that is too strong.

## When it is harmless
Which end means real does not matter: zeros for real samples are fine where all losses agree on it. What
cannot be computed (penalties on gradients, judgements that are lists of features) is left out, and where a
loss pushes different ways nothing is said.

## References
- Goodfellow et al. 2014, Generative Adversarial Nets
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.opposed_sides import Sample
from stethoscope.signals.opposed_sides import OpposedSides

RULE = Rule(code="OBJ200", since="0.3", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sides: OpposedSides) -> Iterator[Finding]:
    """Report each game that has one side only."""
    for same in sides.found:
        first, second = same.first, same.second
        does = "higher" if first.way > 0 else "lower"
        if first.part is Sample.FAKE:
            message = f"generated samples are judged {does} as real ones are: nothing tells them apart"
        else:
            message = f"the generator's loss has its samples judged {does}, as the discriminator's has"
        places = (first.sink.where, first.judged.where, second.sink.where, second.judged.where)
        yield Finding(
            tuple(dict.fromkeys(places)),
            message,
            evidence={"judged": first.judged.text, "against": second.judged.text},
        )
