"""A network of classes or tokens begins with scores so far apart that it is sure of its guesses.

## What it checks
The networks of the training are made with the program's own sizes, filled as the program fills them, and
asked for their answers to random inputs. Where these are scores of classes or tokens (the training takes a
cross-entropy, and the network ends in as many numbers as it has tokens or classes), it holds what a random
label would cost against the logarithm of their number. Scores that do not shrink with the weights are not
judged.

## Why it matters
A guess among fifty costs 3.9. A network that starts at 30 spends the first part of its training on taking
back what its first weights say, with updates that are huge and all of one kind; what it learns after that
begins from weights that no schedule was made for. The usual reason is a table of embeddings with a
deviation of 1 that also serves as the last layer.

## When it is harmless
Scores of cosines with a large scale stay where they are, whatever the weights; heads that start at zero
cost what a guess costs. Networks that begin from a checkpoint never use their first weights.

## References
- Karpathy, "A recipe for training neural networks", 2019: verify the loss at the start
- Press and Wolf, "Using the output embedding to improve language models", 2017
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.beginnings import Beginning, beginnings
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD890", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

TIMES = 2.5  # a guess; torch's own weights stay within a tenth of it
LEAST = 3.0  # nats above a guess: of few classes that is many times
SHRINKS = 0.8  # of the spread, or less, is left when every matrix is half as large
FEWEST = 3  # classes
_CROSS_ENTROPY = re.compile(r"cross_entropy|CrossEntropyLoss|nll_loss|NLLLoss")
_LOADED = re.compile(r"from_pretrained\(|pretrained\s*=\s*True|weights\s*=\s*['\"\w.]*(?:IMAGENET|DEFAULT)")


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report networks whose first answers are far surer than a guess."""
    texts = [source.text for source in sources.program]
    if not any(map(_CROSS_ENTROPY.search, texts)) or any(map(_LOADED.search, texts)):
        return
    tree = settings_tree(settings.recipe if settings is not None else None)
    for beginning in beginnings(index(sources.program), tree):
        scores = _scores(beginning)
        if scores is None:
            continue
        classes = scores.shape[-1]
        guess, first = float(np.log(classes)), _cost(scores)
        if first < TIMES * guess or first < guess + LEAST or not _shrinks(beginning):
            continue
        yield Finding(
            beginning.trial.forward.where(),
            f"{beginning.trial.cls.name} begins with scores that have a deviation of "
            f"{float(scores.std()):.3g}: a random label costs {first:.3g}, where a guess among {classes} "
            f"costs {guess:.3g}",
            evidence={"first": first, "guess": guess, "classes": classes},
        )


def _scores(beginning: Beginning) -> np.ndarray | None:
    """The scores of classes or tokens that come out, classes last; None where it is something else."""
    answer = np.asarray(beginning.outputs[0], np.float64)
    layers = beginning.trial.layers
    if answer.ndim == 3 and beginning.trial.fitting.kinds[0] == "tokens":
        words = {int(one.given["num_embeddings"]) for one in layers if one.kind == "Embedding"}
        return answer if answer.shape[-1] in words else None
    last = [one for one in layers if one.kind == "Linear" and one.given["out_features"] == answer.shape[-1]]
    if answer.ndim == 2 and last and answer.shape[-1] >= FEWEST and len(beginning.outputs) == 1:
        return answer
    return None


def _cost(scores: np.ndarray) -> float:
    """The mean cross-entropy of labels that are drawn at random."""
    rows = scores.reshape(-1, scores.shape[-1])
    top = rows.max(1)
    return float(np.mean(np.log(np.exp(rows - top[:, None]).sum(1)) + top - rows.mean(1)))


def _shrinks(beginning: Beginning) -> bool:
    """Whether smaller weights would give smaller scores."""
    return float(beginning.smaller[0].std()) <= SHRINKS * float(beginning.outputs[0].std())
