"""The weighted denoising loss of EDM."""

import torch


class DenoisingLoss:
    """Draws a noise level for each picture and gives the terms of its loss."""

    def __init__(self, p_mean=-1.2, p_std=1.2, sigma_data=0.5):
        self.p_mean, self.p_std, self.sigma_data = p_mean, p_std, sigma_data

    def __call__(self, net, images):
        rnd = torch.randn([len(images), 1, 1, 1])
        sigma = (rnd * self.p_std + self.p_mean).exp()
        weight = (sigma**2 + self.sigma_data**2) / (sigma * self.sigma_data) ** 2
        noise = torch.randn_like(images) * sigma
        denoised = net(images + noise, sigma)
        error = weight * (denoised - images) ** 2
        return error.mean(dim=(1, 2, 3)), sigma.flatten(), denoised


def total_variation(images):
    """Mean absolute difference of neighbouring pixels."""
    across = (images[..., 1:] - images[..., :-1]).abs().mean()
    return across + (images[..., 1:, :] - images[..., :-1, :]).abs().mean()
