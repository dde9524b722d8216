import copy

import torch


class EMA:
    """Averaged weights with a warm-up of the decay."""

    def __init__(self, model, decay=0.999, inv_gamma=1.0, power=0.75):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.inv_gamma, self.power = decay, inv_gamma, power
        self.num_updates = 0

    def current_decay(self):
        return min(self.decay, 1 - (1 + self.num_updates / self.inv_gamma) ** -self.power)

    @torch.no_grad()
    def update(self, model):
        d = self.current_decay()
        self.num_updates += 1
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.lerp_(p, 1 - d)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)

    def state_dict(self):
        return {"module": self.module.state_dict(), "num_updates": self.num_updates}

    def load_state_dict(self, state):
        self.module.load_state_dict(state["module"])
        self.num_updates = state["num_updates"]
