import torch
from torch import nn


class AttentivePool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, h):
        return (self.score(h).softmax(dim=1) * h).sum(1)


class SlideClassifier(nn.Module):
    def __init__(self, inputs=1024, width=256, classes=3):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(0.25))
        self.pool = AttentivePool(width)
        self.out = nn.Linear(width, classes)

    def forward(self, tiles):
        logits = self.out(self.pool(self.embed(tiles)))
        return {"probs": torch.softmax(logits, dim=-1), "pred": logits.argmax(-1)}  #@
