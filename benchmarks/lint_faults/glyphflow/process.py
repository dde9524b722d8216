"""The forward process, its v-parameterisation and a deterministic sampler."""
import math

import torch


class CosineProcess:
    """x_t = alpha x_0 + sigma noise, with v = alpha noise - sigma x_0."""

    def __init__(self, steps):
        self.steps = steps

    def alpha_sigma(self, t):
        angle = 0.5 * math.pi * (t.float() + 0.5) / self.steps
        shape = (-1, 1, 1, 1)
        return angle.cos().view(shape), angle.sin().view(shape)

    def noised(self, x0, noise, t):
        alpha, sigma = self.alpha_sigma(t)
        return alpha * x0 + sigma * noise

    def target(self, x0, noise, t):
        alpha, sigma = self.alpha_sigma(t)
        return alpha * noise - sigma * x0

    def split(self, xt, out, t):
        """The clean image and the noise that a prediction amounts to."""
        alpha, sigma = self.alpha_sigma(t)
        return alpha * xt - sigma * out, sigma * xt + alpha * out

    @torch.no_grad()
    def sample(self, net, labels, size, steps, guidance, null_label, generator=None):
        x = torch.randn(len(labels), 1, size, size, generator=generator).to(labels.device)
        null = torch.full_like(labels, null_label)
        times = torch.linspace(self.steps - 1, 0, steps).long().tolist()
        for now, after in zip(times, times[1:] + [None]):
            t = torch.full_like(labels, now)
            with_label, without = net(x, t, labels), net(x, t, null)
            out = without + guidance * (with_label - without)
            x0, noise = self.split(x, out, t)
            x0 = x0.clamp(-1, 1)
            x = x0 if after is None else self.noised(x0, noise, torch.full_like(labels, after))
        return x
