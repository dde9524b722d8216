"""What a restored picture is worth."""

import torch.nn.functional as F


def psnr(fake, real):
    """Fidelity of each picture in dB; pictures are in 0..1."""
    mse = (fake.clamp(0, 1) - real).square().flatten(1).mean(1)
    return -10.0 * mse.clamp_min(1e-10).log10()


def roughness(pictures, cell=4):
    """The energy of fine detail in each cell, in dB."""
    smooth = F.avg_pool2d(F.pad(pictures, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    energy = F.avg_pool2d((pictures - smooth).square(), cell)
    return 10.0 * (energy + 1e-4).log10()


def texture_distance(fake, real):
    """By how many dB the fine detail of each picture is off, cell by cell; 0 is perfect."""
    return (roughness(fake.clamp(0, 1)) - roughness(real)).abs().flatten(1).mean(1)
