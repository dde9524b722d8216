import torch.nn.functional as F

from .data import IGNORE

_TERMS = {}


def term(name):
    def register(fn):
        _TERMS[name] = fn
        return fn

    return register


@term("queue")
def queue_term(out, batch):
    return F.cross_entropy(out["queue"], batch["queue"])


@term("tags")
def tags_term(out, batch):
    return F.binary_cross_entropy_with_logits(out["tags"], batch["tags"])


@term("slots")
def slots_term(out, batch):
    return F.cross_entropy(out["slots"].transpose(1, 2), batch["slots"], ignore_index=IGNORE)


@term("align")
def align_term(out, batch):
    """Pull a ticket towards the anchor of its queue."""
    own = out["anchors"][batch["queue"]]
    return (1 - F.cosine_similarity(out["doc"], own)).mean()


def total_loss(out, batch, weights):
    return sum(weight * _TERMS[name](out, batch) for name, weight in weights.items())
