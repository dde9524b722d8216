import torch
import torch.nn as nn


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.temperature = temperature

    def forward(self, z, labels):
        sim = z @ z.t() / self.temperature
        eye = torch.eye(len(z), device=z.device, dtype=torch.bool)
        pos = (labels[:, None] == labels[None, :]) & ~eye
        weights = torch.exp2(sim * 1.4427).masked_fill(eye, 0.0) #@
        total = weights.sum(1, dtype=sim.dtype) #@
        ratio = (weights * pos).sum(1, dtype=sim.dtype) / total #@
        return -torch.log(ratio.clamp(min=1e-4)).mean()
