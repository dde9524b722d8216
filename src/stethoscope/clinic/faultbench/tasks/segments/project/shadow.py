"""A smoothed copy of the network."""

import copy

import torch


class Shadow:
    """Follows the weights and the statistics of a network with some inertia."""

    def __init__(self, net, inertia):
        self.inertia = inertia
        self.net = copy.deepcopy(net).requires_grad_(False)

    @torch.no_grad()
    def follow(self, net):
        live = net.state_dict()
        for name, kept in self.net.state_dict().items():
            if kept.is_floating_point():
                kept.lerp_(live[name], 1.0 - self.inertia)
            else:
                kept.copy_(live[name])
