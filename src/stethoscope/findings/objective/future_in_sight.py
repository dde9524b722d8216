"""A network that has to say the next token can look at it.

## What it checks
Programs whose training asks for the next token (`tokens[:, :-1]` goes in, `tokens[:, 1:]` is asked for):
whether a network attends to its whole input, by hand, through torch's transformer layers or
`scaled_dot_product_attention`, and nothing in the program hides what comes later.

## Why it matters
The answer stands in the input, one place further on. The loss falls far below what any language allows, and
held-out data do as well; what is generated, where the next token is not there yet, is noise.

## When it is harmless
Encoders that are asked for something else than their own next token need no mask. Nothing is said where any
file makes a causal mask in any spelling, uses recurrent layers, or takes its networks from a library.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2.3
- torch.nn.Transformer.generate_square_subsequent_mask
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.weights.causal_masks import futures_in_sight
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ222", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report attention that may look at the token it has to predict."""
    for one in futures_in_sight(index(sources.program)):
        source, asked = one.asked
        yield Finding(
            (one.source.where(one.attends), source.where(asked)),
            f"{one.how}, and the next token is what the network is asked for",
            evidence={"how": one.how},
        )
