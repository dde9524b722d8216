"""Denoising error at fixed noise levels, with the same noise every time."""

import torch

LEVELS = (0.1, 0.25, 0.6, 1.5)
PEAK = 2.0  # pictures lie in [-1, 1]


def psnr(mse):
    return 10 * torch.log10(PEAK**2 / mse)


class Validation:
    def __init__(self, images, sigma_data, seed=1234):
        self.images, self.sigma_data = images, sigma_data
        generator = torch.Generator().manual_seed(seed)
        self.noise = torch.randn((len(LEVELS), *images.shape), generator=generator)

    @torch.no_grad()
    def __call__(self, net):
        """Metrics of a network."""
        values, losses, scores = {}, [], []
        for level, noise in zip(LEVELS, self.noise):
            sigma = torch.full([len(self.images)], level)
            denoised = net(self.images + level * noise, sigma)
            mse = (denoised - self.images).square().mean()
            losses.append(mse * (level**2 + self.sigma_data**2) / (level * self.sigma_data) ** 2)
            scores.append(psnr(mse))
            values[f"psnr_{level:g}"] = scores[-1].item()
        values["psnr"] = torch.stack(scores).mean().item()
        values["loss"] = torch.stack(losses).mean().item()
        return values

    def baseline(self):
        """The same score for shrinking the noisy picture, which needs no network."""
        def shrink(x, sigma):
            sigma = sigma.reshape(-1, 1, 1, 1)
            return x * self.sigma_data**2 / (sigma**2 + self.sigma_data**2)

        return self(shrink)["psnr"]
