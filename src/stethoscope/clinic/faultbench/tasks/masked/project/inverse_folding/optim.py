"""AdamW, the rate of each optimizer step, and an average of the weights."""

import copy
import math

import torch


def build_optimizer(network, optim):
    """AdamW; matrices decay, biases, norms and embeddings do not."""
    decayed = [p for name, p in network.named_parameters() if p.ndim > 1 and "residues" not in name]
    kept = [p for name, p in network.named_parameters() if p.ndim <= 1 or "residues" in name]
    groups = [
        {"params": decayed, "weight_decay": optim.weight_decay},
        {"params": kept, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=optim.peak_lr, betas=(0.9, optim.beta2), eps=optim.eps, fused=True)


class WarmupSchedule:
    """Linear warm-up, then down to a twentieth; counted in optimizer steps."""

    floor = 0.05

    def __init__(self, optimizer, optim):
        self.optimizer, self.optim = optimizer, optim
        self.count = 0
        self._apply()

    def factor(self, count):
        warmup = self.optim.warmup_steps
        if count < warmup:
            return (count + 1) / warmup
        done = min(1.0, (count - warmup) / max(1, self.optim.horizon - warmup))
        if self.optim.schedule == "constant":
            return 1.0
        if self.optim.schedule == "linear":
            return 1.0 - (1.0 - self.floor) * done
        if self.optim.schedule == "cycles":
            done = 1.0 if done == 1.0 else (self.optim.cycles * done) % 1.0
        return self.floor + (1.0 - self.floor) * 0.5 * (1.0 + math.cos(math.pi * done))

    def step(self):
        self.count += 1
        self._apply()

    def _apply(self):
        for group in self.optimizer.param_groups:
            group["lr"] = self.optim.peak_lr * self.factor(self.count)

    @property
    def rate(self):
        return self.optimizer.param_groups[0]["lr"]

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]
        self._apply()


class WeightAverage:
    """An exponential average of the weights of a network."""

    def __init__(self, network, decay):
        self.decay = decay
        self.network = copy.deepcopy(network).requires_grad_(False)

    @torch.no_grad()
    def update(self, network):
        for mean, weight in zip(self.network.parameters(), network.parameters()):
            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)
