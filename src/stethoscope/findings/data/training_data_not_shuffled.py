"""Training draws its batches in the order the data is stored.

## What it checks
The DataLoader that a training loop, or a `train_dataloader` hook, draws from: whether it shuffles, has a
sampler or a batch sampler. The data set must be known to be one whose order the loader decides. A flag that
the script of the run leaves off counts as off. Samplers of the program are followed as they are made.
Batches that the code cuts out of arrays by itself are read too: inputs and labels at the same places, or both
out of the same rows, one after the other, or as many neighbours as a batch has from wherever it begins.

## Why it matters
Stored order is rarely random: classes, scenes or documents stand together. Each batch then shows one side
of the data, the loss swings with a period of one epoch, and the network forgets what it saw first.

## When it is harmless
An iterable or streamed data set shuffles by itself or not at all; a data set that shuffles its own index,
or makes items up whatever the index, needs no help; a sampler decides the order. Loaders for validation
should not shuffle. A window of a text or a series is one sample, and is drawn as one. Where an option came
from what could not be resolved, nothing is said.

## References
- torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.data_order import (
    goes_in_order,
    is_map_style,
    is_off,
    is_parsed,
    mixes_by_itself,
)
from stethoscope.program.data.lone_order import lone_order
from stethoscope.program.data.own_samplers import own_order
from stethoscope.program.data.private_loaders import is_made_private
from stethoscope.program.walk.values import Applied, Part, Site, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT101", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report each loader of training data that keeps the stored order."""
    for loader in loaders:
        sampler = loader.options.get("sampler")
        shuffle = loader.options.get("shuffle")
        left = loaders.left_off.get(shuffle.key) if isinstance(shuffle, Part) and is_parsed(shuffle) else None
        grouped = loader.options.get("batch_sampler")
        is_left = is_off(shuffle) or left is not None
        alone = (lone_order(loader) or own_order(loader)) if is_left else None
        keeps_order = is_left and (is_off(grouped) or goes_in_order(grouped) or alone is not None)
        keeps_order = keeps_order and (is_off(sampler) or goes_in_order(sampler) or alone is not None)
        sampled = any(map(goes_in_order, (sampler, grouped)))
        is_ordered = sampled or alone is not None or is_map_style(loaders.index, loader.dataset)
        if not (keeps_order and loader.options_known and is_ordered):
            continue
        if mixes_by_itself(loaders.index, loader.dataset) or is_made_private(loader):
            continue
        given = sampler if isinstance(sampler, Applied) else grouped
        ordering = alone or (given.site if isinstance(given, Applied) else None)
        first = (ordering.where,) if ordering else ()
        yield Finding(
            where=(*first, loader.site.where, *((left,) if left else ())),
            message=f"the loader of the training data does not shuffle: {_in_short(ordering or loader.site)}",
            evidence={"loader": loader.site.text},
            fix=None if ordering or left else _fix(loader.site),
        )
    for batches in loaders.in_order:
        short = _in_short(batches.site)
        made = f"made without {batches.switch}" if batches.switch else "cut in the stored order"
        yield Finding(
            where=batches.site.where,
            message=f"the batches of training are {made}: {short}",
            evidence={"batches": batches.site.text},
        )


def _in_short(site: Site) -> str:
    return " ".join(site.text.split())[:100]


def _fix(site: Site) -> Fix | None:
    """Set `shuffle=True`, in place of a False that is written there."""
    node = site.node
    if not isinstance(node, ast.Call) or not [*node.args, *node.keywords]:
        return None
    written = next((keyword.value for keyword in node.keywords if keyword.arg == "shuffle"), None)
    if written is not None:
        span = span_of(site.source, written)
        return _splice(site, *span, "True") if span and isinstance(written, ast.Constant) else None
    if len(node.args) > 2:
        return None
    last = (node.keywords or node.args)[-1]
    span = span_of(site.source, last)
    return _splice(site, span[1], span[1], ", shuffle=True") if span else None


def _splice(site: Site, start: int, end: int, text: str) -> Fix:
    return Fix("shuffle the training data", Level.UNSAFE, (Splice(site.source.file, start, end, text),))
