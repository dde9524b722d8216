import math

import torch


def signal_noise(t):
    """Cosine schedule: amplitudes of signal and noise at time t in [0, 1]."""
    t = t.view(-1, 1, 1, 1) * 0.98 + 0.01
    return torch.cos(t * math.pi / 2), torch.sin(t * math.pi / 2)


class Eps:
    def target(self, x0, eps, a, s):
        return eps

    def clean(self, out, xt, a, s):
        return (xt - s * out) / a


class Velocity:
    def target(self, x0, eps, a, s):
        return a * eps - s * x0

    def clean(self, out, xt, a, s):
        return a * xt - s * out


class Clean:
    def target(self, x0, eps, a, s):
        return x0

    def clean(self, out, xt, a, s):
        return out


PREDICTIONS = {"eps": Eps, "v": Velocity, "x0": Clean}


def ddim(net, prediction, xt, t_from, steps=6):
    """Deterministic way from time t_from to zero."""
    times = torch.linspace(t_from, 0, steps + 1)
    for now, then in zip(times[:-1], times[1:]):
        a, s = signal_noise(now.expand(len(xt)))
        x0 = prediction.clean(net(xt, now.expand(len(xt))), xt, a, s).clamp(-1, 1)
        eps = (xt - a * x0) / s
        a, s = signal_noise(then.expand(len(xt)))
        xt = a * x0 + s * eps
    return x0
