"""What is measured is resized before the network, and what is trained on is not.

## What it checks
The way into the network in training and in evaluation: a resize to a size that is written down, on the way of
what is measured only. In data sets, a branch for training that crops and one for evaluation that squeezes the
whole sample into a size instead. In the transforms of held-out data, a random crop.

## Why it matters
Objects, textures and pitches have another scale than any the network was trained on. The score says how well
it copes with that, not how well it has learned, and boxes or masks that are not resized along are wrong too.
Random parts are another yardstick in every epoch, and none that others have measured with.

## When it is harmless
Where training data get the same size before they are stored or elsewhere, where the size is computed from the
sample (rounding up to a stride), or where both branches resize, nothing is reported. A middle crop keeps the
scale.

## References
- Touvron et al., Fixing the train-test resolution discrepancy, 2019
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around
from stethoscope.program.evaluation.evaluation_sizes import resized_in_data_sets, resized_in_evaluation
from stethoscope.program.evaluation.random_crops_in_evaluation import random_crops
from stethoscope.program.evaluation.removal import removal
from stethoscope.program.evaluation.sample_sizes import resized_samples
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA107", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each resize that only what is measured goes through."""
    seen: set[int] = set()
    in_code = resized_in_evaluation(evaluations.index, evaluations.walks)
    for found in (*in_code, *resized_in_data_sets(evaluations.index)):
        if id(found.resize.node) in seen:
            continue
        seen.add(id(found.resize.node))
        instead = f", where training has {found.instead.text.split(chr(10))[0][:60]}" if found.instead else ""
        yield Finding(
            where=found.resize.where,
            message=f"only what is measured is resized before the network{instead}",
            evidence={"resize": found.resize.text},
            fix=_without(found.resize),
        )
    for one in resized_samples(evaluations.index, evaluations.settings):
        if id(one.resize.node) in seen:
            continue
        seen.add(id(one.resize.node))
        yield Finding(
            where=tuple(dict.fromkeys((one.resize.where, one.judged.where))),
            message="only what is measured is resized before the network",
            evidence={"resize": one.resize.text, "measured": one.judged.text, "trained": one.trained.text},
        )
    for walk in evaluations.walks:
        for cut in random_crops(walk):
            if id(cut.crop.node) in seen:
                continue
            seen.add(id(cut.crop.node))
            yield Finding(
                where=(cut.crop.where, cut.loader.where),
                message="what is measured is a random part of each sample, another one every time",
                evidence={"crop": cut.crop.text, "loader": cut.loader.text},
            )


def _without(resize: Site) -> Fix | None:
    """The step taken out, where it is a statement of its own."""
    around = blocks_around(resize.source, resize.node)
    function = next((b[place] for b, place in around if isinstance(b[place], FunctionNode)), None)
    cuts = removal(resize, function if isinstance(function, FunctionNode) else None)
    return Fix("measure at the size that the data have", Level.UNSAFE, cuts) if cuts else None
