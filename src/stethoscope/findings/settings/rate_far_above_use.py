"""A pretrained transformer is tuned at a learning rate far above any in use.

## What it checks
Programs that load a pretrained transformer and tune all of it with Adam, by a Trainer of Hugging Face or by
hand: whether the learning rate is a hundredth or more, written out or from the settings; two thousandths
where a reader of texts (`ForSequenceClassification` and its kin) is tuned without adapters.

## Why it matters
Such models are tuned at 1e-5 to 1e-4, adapters inside them at up to 1e-3. At a hundredth the first few steps
undo what was learned before: the loss jumps to that of a guess and stays there.

## When it is harmless
Prompts, prefixes and heads on a frozen network take such rates, and so does an optimizer that is not Adam.
Where the program speaks of any of these nothing is said.

## References
- Devlin et al. 2018, BERT, appendix A.3: 5e-5, 3e-5, 2e-5
- Hu et al. 2021, LoRA, appendix D: at most 5e-4 to 1e-3
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.rates_for_pretrained import rates_for_pretrained
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET231", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each rate that undoes what was learned before."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in rates_for_pretrained(index(sources.program), tree):
        yield Finding(
            (one.told.where, one.model.where),
            f"a pretrained transformer is tuned at a learning rate of {one.rate:g}; 1e-5 to 1e-4 is usual",
            evidence={"rate": one.rate},
        )
