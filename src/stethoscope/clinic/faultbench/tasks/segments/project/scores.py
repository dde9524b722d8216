"""Scores from a confusion matrix that is gathered over all validation tiles."""

import torch

from meters import Averages
from tiles import CLASSES, VOID


def confusion(pred, mask):
    """Pixels by their class (rows) and by what was predicted (columns)."""
    n = len(CLASSES)
    known = mask != VOID
    return torch.bincount(n * mask[known] + pred[known], minlength=n * n).view(n, n)


def ious(matrix):
    """Intersection over union of each class; NaN where a class does not occur at all."""
    hits = matrix.diag().double()
    return hits / (matrix.sum(0) + matrix.sum(1) - hits)


@torch.no_grad()
def evaluate(net, loader, criterion, autocast):
    """Loss, mean IoU, pixel accuracy and the IoU of each class."""
    net.eval()
    matrix = torch.zeros(len(CLASSES), len(CLASSES), dtype=torch.long)
    averages = Averages()
    for tile, mask in loader:
        with autocast():
            logits, aux_logits = net(tile)
        loss, _ = criterion(logits, aux_logits, mask)
        averages.add({"loss": loss.item()}, n=len(tile))
        matrix += confusion(logits.argmax(dim=1), mask)
    iou = ious(matrix)
    return {
        "loss": averages.mean("loss"),
        "miou": iou.nanmean().item(),
        "pixel_acc": (matrix.diag().sum() / matrix.sum()).item(),
        **{f"iou_{name}": value.item() for name, value in zip(CLASSES, iou)},
    }
