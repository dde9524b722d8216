"""An exponential average of the weights, with the usual warm-up."""

import copy

import torch


class Averaged:
    """Keeps `net`, a copy whose weights follow those of the trained network."""

    def __init__(self, net, beta, power):
        self.net = copy.deepcopy(net).eval().requires_grad_(False)
        self.beta, self.power = beta, power
        self.updates = 0

    def current_beta(self):
        if self.power <= 0:
            return self.beta
        return min(self.beta, 1 - (1 + self.updates) ** -self.power)

    @torch.no_grad()
    def update(self, net):
        beta = self.current_beta()
        for avg, new in zip(self.net.parameters(), net.parameters()):
            avg.lerp_(new, 1 - beta)
        for avg, new in zip(self.net.buffers(), net.buffers()):
            avg.copy_(new)
        self.updates += 1

    def state_dict(self):
        return {"net": self.net.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.net.load_state_dict(state["net"])
        self.updates = state["updates"]
