import torch
import torch.nn.functional as F
from torch import nn


class ProxyNCA(nn.Module):
    """Softmax over cosine similarities to one learnt proxy for each class."""

    def __init__(self, classes, dim, temperature):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(classes, dim))
        self.temperature = temperature

    def forward(self, emb, labels):
        emb, proxies = F.normalize(emb.float(), dim=-1), F.normalize(self.proxies, dim=-1)
        sim = emb @ proxies.T / self.temperature
        positive = sim.gather(1, labels[:, None]).squeeze(1)
        return (torch.logsumexp(sim, dim=1) - positive).mean()


def distill(student, teacher):
    """Zero where student and teacher point the same way."""
    return (1 - F.cosine_similarity(student.float(), teacher.float(), dim=-1)).mean()
