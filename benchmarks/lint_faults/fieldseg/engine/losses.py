import torch
from torch import nn
from torch.nn import functional as F


class SegLoss(nn.Module):
    def __init__(self, dice_weight, ignore):
        super().__init__()
        self.dice_weight = dice_weight
        self.ignore = ignore

    def forward(self, logits, target):
        logits = logits.float()
        ce = F.cross_entropy(logits, target, ignore_index=self.ignore)
        return ce + self.dice_weight * self.dice(logits.softmax(1), target)

    def dice(self, probs, target):
        valid = (target != self.ignore).unsqueeze(1)
        onehot = F.one_hot(target.clamp(max=probs.shape[1] - 1), probs.shape[1]).permute(0, 3, 1, 2)
        probs, onehot = probs * valid, onehot * valid
        inter = (probs * onehot).sum((0, 2, 3))
        total = probs.sum((0, 2, 3)) + onehot.sum((0, 2, 3))
        return 1 - ((2 * inter + 1) / (total + 1)).mean()


class ConfusionMeter:
    def __init__(self, classes, ignore):
        self.classes, self.ignore = classes, ignore
        self.matrix = torch.zeros(classes, classes, dtype=torch.long)

    def update(self, logits, target):
        pred, target = logits.argmax(1).cpu().flatten(), target.cpu().flatten()
        keep = target != self.ignore
        both = target[keep] * self.classes + pred[keep]
        self.matrix += torch.bincount(both, minlength=self.classes**2).view(self.classes, self.classes)

    def miou(self):
        m = self.matrix.double()
        union = m.sum(0) + m.sum(1) - m.diag()
        return (m.diag()[union > 0] / union[union > 0]).mean().item()
