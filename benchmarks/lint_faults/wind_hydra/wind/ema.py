import copy

import torch


class EMA:
    def __init__(self, model, decay, warmup):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.warmup = decay, warmup
        self.seen = 0

    @torch.no_grad()
    def update(self, model):
        self.seen += 1
        d = min(self.decay, self.seen / (self.warmup + self.seen))
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(d).add_(p, alpha=1 - d)

    def state_dict(self):
        return {"shadow": self.shadow.state_dict(), "seen": self.seen}

    def load_state_dict(self, state):
        self.shadow.load_state_dict(state["shadow"])
        self.seen = state["seen"]
