"""What is minimised: cross entropy with class weights, soft Dice, an auxiliary term, and smooth borders."""

import torch
import torch.nn.functional as F

from tiles import CLASSES, VOID


def cross_entropy(logits, mask, class_weights):
    return F.cross_entropy(logits, mask, weight=class_weights, ignore_index=VOID)


def per_tile_cross_entropy(logits, mask, least_share):
    """Cross entropy in which each class weighs by how rare it is within its tile."""
    known = mask != VOID
    truth = one_hot(mask, known)
    share = truth.sum((2, 3)) / known.sum((1, 2)).unsqueeze(1)
    weight = (truth / share.clamp(min=least_share)[:, :, None, None]).sum(1)
    ce = F.cross_entropy(logits, mask, ignore_index=VOID, reduction="none")
    return (ce * weight).sum() / known.sum() / len(CLASSES)


def soft_dice(logits, mask, eps=1.0):
    """One minus the mean Dice coefficient of all classes, over the pixels of the batch that are known."""
    known = mask != VOID
    probs = logits.softmax(dim=1) * known.unsqueeze(1)
    truth = one_hot(mask, known)
    inter = (probs * truth).sum((0, 2, 3))
    union = probs.sum((0, 2, 3)) + truth.sum((0, 2, 3))
    return 1.0 - ((2.0 * inter + eps) / (union + eps)).mean()


def roughness(logits):
    """How much neighbouring pixels disagree."""
    probs = logits.softmax(dim=1)
    down = (probs[:, :, 1:] - probs[:, :, :-1]).abs().mean()
    right = (probs[..., 1:] - probs[..., :-1]).abs().mean()
    return down + right


def one_hot(mask, known):
    truth = F.one_hot(mask.masked_fill(~known, 0), len(CLASSES)).permute(0, 3, 1, 2)
    return truth.float() * known.unsqueeze(1)


class AuxBalance:
    """Weighs the auxiliary term so that it stays a fixed share of the main one."""

    def __init__(self, share, inertia=0.9):
        self.share, self.inertia = share, inertia
        self.weight = share

    def update(self, main, aux):
        wanted = self.share * main / max(aux, 1e-4)
        self.weight = self.inertia * self.weight + (1.0 - self.inertia) * wanted


def make_criterion(cfg):
    """The loss as a function of both outputs and the mask; gives it and its parts."""
    class_weights = torch.tensor([cfg["class_weights"][name] for name in CLASSES])
    balance = AuxBalance(cfg["aux"]) if cfg["aux_balance"] else None

    def criterion(logits, aux_logits, mask):
        logits, aux_logits = logits.float(), aux_logits.float()
        if cfg["per_tile"]:
            ce = per_tile_cross_entropy(logits, mask, cfg["least_share"])
        else:
            ce = cross_entropy(logits, mask, class_weights)
        dice = soft_dice(logits, mask)
        aux = cross_entropy(aux_logits, mask, class_weights)
        main = ce + cfg["dice"] * dice
        aux_weight = cfg["aux"]
        if balance is not None:
            if torch.is_grad_enabled():
                balance.update(main.item(), aux.item())
            aux_weight = balance.weight
        loss = main + aux_weight * aux + cfg["smooth"] * roughness(logits)
        return loss, {"ce": ce.item(), "dice": dice.item(), "aux": aux.item()}

    return criterion
