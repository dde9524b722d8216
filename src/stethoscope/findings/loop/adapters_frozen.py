"""The adapters of a network are frozen, so nothing is trained.

## What it checks
Programs that put peft's adapters into a network: whether all weights are frozen after that, by
`prepare_model_for_kbit_training`, `requires_grad_(False)` or a loop over all parameters; and adapters that
are loaded by `PeftModel.from_pretrained` without `is_trainable=True` and are trained.

## Why it matters
The base is frozen on purpose and the adapters by mistake. The loss moves with the batches and goes nowhere;
where a layer's inputs are made to need gradients, not even an error is raised.

## When it is harmless
Adapters that are only merged or evaluated. Where anything in the program switches gradients on again, or
chooses the adapter to train, nothing is reported.

## References
- peft.prepare_model_for_kbit_training, peft.PeftModel.from_pretrained
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.frozen_adapters import frozen_adapters
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP873", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each place that freezes the adapters for good."""
    for one in frozen_adapters(index(sources.program)):
        if one.loaded:
            message = "the adapters are loaded for inference: without is_trainable=True they are frozen"
            yield Finding(one.made.where, message, evidence={"loaded": True})
        else:
            yield Finding(
                (one.frozen.where, one.made.where),
                "all weights are frozen after the adapters were put in, so the adapters are frozen too",
                evidence={"loaded": False},
            )
