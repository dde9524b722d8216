import torch


def psnr(pred, target, max_val=1.0):
    mse = (pred - target).pow(2).flatten(1).mean(1).clamp_min(1e-12)
    return 10 * torch.log10(max_val ** 2 / mse)
