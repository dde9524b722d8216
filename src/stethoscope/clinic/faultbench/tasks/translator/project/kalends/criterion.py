"""What is minimised: the cost of every mark, and of guessing the manner."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from kalends.corpus import Batch
from kalends.recipe import Criterion
from kalends.vocabulary import FILL


def mark_costs(logits: Tensor, wanted: Tensor, smoothing: float = 0.0) -> Tensor:
    """The cross-entropy of each mark, [pairs, marks]; nothing where a pair has ended."""
    return F.cross_entropy(
        logits.transpose(1, 2), wanted, ignore_index=FILL, label_smoothing=smoothing, reduction="none"
    )


def terms_of(options: Criterion, logits: Tensor, manner: Tensor, batch: Batch) -> dict[str, Tensor]:
    """The terms of the loss; a pair counts as much as its annotator is trusted."""
    costs = mark_costs(logits.float(), batch.wanted, options.smoothing)
    marks = batch.wanted != FILL
    return {
        "translation": (costs * marks * batch.trust[:, None]).sum() / marks.sum(),
        "manner": F.cross_entropy(manner.float(), batch.manner),
    }


def weighted(options: Criterion, terms: dict[str, Tensor]) -> Tensor:
    return sum(getattr(options, name) * term for name, term in terms.items())
