import torch
from torch import nn

from objectives import ProxyNCA, distill


def mlp(sizes, dropout):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers)


class Embedder(nn.Module):
    def __init__(self, inputs, width, dim, dropout=0.0):
        super().__init__()
        self.trunk = mlp([inputs, width, width], dropout)
        self.head = nn.Linear(width, dim)

    def forward(self, x):
        return self.head(self.trunk(x))


class Task(nn.Module):
    """The student together with all that is learnt beside it; gives the loss."""

    def __init__(self, student, cfg, teacher_dim, amp):
        super().__init__()
        self.student = student
        self.to_teacher = nn.Linear(cfg["dim"], teacher_dim)
        self.metric = ProxyNCA(cfg["classes"], cfg["dim"], cfg["temperature"])
        self.distill_weight, self.amp = cfg["distill_weight"], amp

    def forward(self, x, labels, guide):
        with torch.autocast(x.device.type, dtype=torch.float16, enabled=self.amp):
            emb = self.student(x)
            lifted = self.to_teacher(emb)
        return self.metric(emb, labels) + self.distill_weight * distill(lifted, guide)
