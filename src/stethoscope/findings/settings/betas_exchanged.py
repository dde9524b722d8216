"""Adam averages its gradients longer than their squares.

## What it checks
The betas that an optimizer like Adam is told, written out or from the settings: whether the first is
larger than the second, as where (0.9, 0.999) is written the other way round.

## Why it matters
The update is an average of gradients over the root of an average of their squares. Where the first remembers
longer, gradients of the past are divided by what is small at present: whenever gradients become smaller,
steps grow to many times the learning rate. Adam's bounds need beta1 squared below beta2.

## When it is harmless
Equal betas, and a first of 0 or 0.5 as for GANs, are in use.

## References
- Kingma & Ba 2015, Adam
- Reddi et al. 2018, On the convergence of Adam and beyond
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.settings.exchanged_numbers import LONGER, exchanged_betas
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Key, Setting, Where
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET841", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)

NAMING = ("type", "_target_", "name", "class_path", "optimizer", "opt")


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each pair of betas that stands the wrong way round."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in exchanged_betas(index(sources.program), tree):
        yield Finding(
            one.spot.where,
            f"betas are ({one.number:g}, {one.other:g}): gradients are averaged longer than their squares",
            evidence={"first": one.number, "second": one.other},
        )
    for where, first, second in _written(settings) if settings is not None else ():
        yield Finding(
            where,
            f"betas are ({first:g}, {second:g}): gradients are averaged longer than their squares",
            evidence={"first": first, "second": second},
        )


def _written(settings: Settings) -> Iterator[tuple[Where, float, float]]:
    """The betas beside the name of such an optimizer in a file: `optimizer: {type: AdamW, betas: ...}`."""
    known = {setting.key: setting for setting in settings.recipe}
    for key, one in known.items():
        other = known.get((*key[:-1], 1)) if key[-2:] == ("betas", 0) else None
        first, second = one.value, other.value if other is not None else None
        if not isinstance(first, float) or not isinstance(second, float) or not _is_adam(known, key[:-2]):
            continue
        if second + LONGER < first < 1:
            yield one.where, first, second


def _is_adam(known: Mapping[Key, Setting], section: Key) -> bool:
    """Whether a section, or the one around it, names its optimizer."""
    named = [known.get((*around, word)) for around in (section, section[:-1]) for word in NAMING]
    return any(one is not None and "adam" in str(one.value).lower() for one in named)
