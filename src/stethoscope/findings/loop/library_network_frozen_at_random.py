"""A network of a library is made without weights, and frozen: it stays random for good.

## What it checks
Networks of torchvision, timm and transformers that are made without asking for weights (`resnet18()`,
`create_model("vit_small_patch16_224")`, `BertModel(config)`, `AutoModel.from_config`), and whose gradients,
or those of a part, are switched off before the training.

## Why it matters
A head learns on top of random features. The loss falls a little, so nothing looks broken, and it stops far
above what the network could do. Freezing is meant for weights that were learnt before.

## When it is harmless
Nothing is said where anything in the program loads weights or speaks of random features, where what is frozen
learns again later, and where a condition decides about the freezing.

## References
- torchvision.models: `weights=None` is the default, and means random weights
- transformers: a model that is made from a configuration does not load the weights of it
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.frozen_library_networks import frozen_library_networks
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP250", since="0.5", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each network where it is frozen."""
    for one in frozen_library_networks(index(sources.program)):
        yield Finding(
            (one.frozen.where, one.made.where),
            f"{one.part} is frozen, and {one.maker} made it with random weights: nothing loads others",
            evidence={"frozen": one.part, "made by": one.maker},
        )
