"""An exponential moving average of the weights of a network."""

import copy

import torch


class WeightAverage:
    def __init__(self, network, decay):
        self.decay = decay
        self.network = copy.deepcopy(network).requires_grad_(False)

    @torch.no_grad()
    def update(self, network):
        for mean, weight in zip(self.network.parameters(), network.parameters()):
            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)

    def state_dict(self):
        return self.network.state_dict()

    def load_state_dict(self, state):
        self.network.load_state_dict(state)
