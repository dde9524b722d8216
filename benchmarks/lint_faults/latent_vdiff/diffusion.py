"""Continuous Gaussian diffusion with a cosine schedule; the network predicts v."""
import math

import torch


class GaussianDiffusion:
    def __init__(self, timesteps, min_snr_gamma, device):
        self.T = timesteps
        self.gamma = min_snr_gamma
        s = 0.008
        grid = torch.arange(timesteps + 1, device=device, dtype=torch.float32) / timesteps
        f = torch.cos((grid + s) / (1 + s) * math.pi / 2) ** 2
        self.alpha_bar = (f[1:] / f[0]).clamp(1e-4, 0.9999)

    def _coef(self, t):
        ab = self.alpha_bar[t][:, None, None]
        return ab.sqrt(), (1 - ab).sqrt()

    def add_noise(self, x0, noise, t):
        a, s = self._coef(t)
        return a * x0 + s * noise

    def velocity(self, x0, noise, t):
        a, s = self._coef(t)
        return a * noise - s * x0

    def recover(self, x_t, v, t):
        """The clean signal and the noise that belong to a predicted velocity."""
        a, s = self._coef(t)
        return a * x_t - s * v, s * x_t + a * v

    def weight(self, t):
        """min-SNR weights for v prediction."""
        ab = self.alpha_bar[t]
        snr = ab / (1 - ab)
        return snr.clamp(max=self.gamma) / (snr + 1)

    @torch.no_grad()
    def sample(self, net, shape, steps, device):
        """Deterministic DDIM."""
        x = torch.randn(shape, device=device)
        times = torch.linspace(self.T - 1, 0, steps, device=device).round().long()
        for i, now in enumerate(times):
            t = now.expand(shape[0])
            x0, eps = self.recover(x, net(x, t).float(), t)
            x0 = x0.clamp(-1.5, 1.5)
            if i + 1 == len(times):
                return x0
            x = self.add_noise(x0, eps, times[i + 1].expand(shape[0]))
