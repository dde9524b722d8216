import math

import torch


class Diffusion:
    """Cosine schedule; the network predicts the noise ("eps") or the velocity ("v")."""

    def __init__(self, predict, steps, min_snr):
        if predict not in ("eps", "v"):
            raise ValueError(predict)
        self.predict, self.steps, self.min_snr = predict, steps, min_snr

    def coefficients(self, t):
        angle = 0.5 * math.pi * (t.float() + 0.5) / self.steps
        return angle.cos().view(-1, 1, 1), angle.sin().view(-1, 1, 1)

    def noised(self, x0, t, noise):
        alpha, sigma = self.coefficients(t)
        return alpha * x0 + sigma * noise

    def target(self, x0, t, noise):
        if self.predict == "eps":
            return noise
        alpha, sigma = self.coefficients(t)
        return alpha * noise - sigma * x0

    def weight(self, t):
        alpha, sigma = self.coefficients(t)
        snr = (alpha / sigma) ** 2
        clipped = snr.clamp(max=self.min_snr)
        return clipped / snr if self.predict == "eps" else clipped / (snr + 1)

    def loss(self, output, x0, t, noise):
        error = (output.float() - self.target(x0, t, noise)) ** 2
        return (self.weight(t) * error).mean()

    def split(self, output, x, t):
        """(x0, eps) from the network's output at time t."""
        alpha, sigma = self.coefficients(t)
        if self.predict == "eps":
            return (x - sigma * output) / alpha, output
        return alpha * x - sigma * output, sigma * x + alpha * output

    @torch.no_grad()
    def sample(self, net, shape, device, stride):
        x = torch.randn(shape, device=device)
        times = list(range(self.steps - 1, -1, -stride))
        for now, after in zip(times, times[1:] + [None]):
            t = torch.full((shape[0],), now, device=device)
            x0, eps = self.split(net(x, t).float(), x, t)
            if after is None:
                return x0
            x = self.noised(x0, torch.full_like(t, after), eps)
