import torch
import torch.nn.functional as F

IGNORE_INDEX = -100


def token_loss(logits, labels, z_weight):
    """Summed loss of the labelled tokens, with a pull of the log partition function towards zero."""
    logits = logits.float()
    nll = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum", ignore_index=IGNORE_INDEX)
    lse = torch.logsumexp(logits, dim=-1)
    z = (lse.square() * (labels != IGNORE_INDEX)).sum()
    return nll + z_weight * z
