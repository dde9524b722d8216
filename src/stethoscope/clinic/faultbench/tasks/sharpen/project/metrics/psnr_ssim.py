"""Image metrics on 8-bit pictures."""

import numpy as np
import torch
import torch.nn.functional as F


def tensor2img(tensor):
    """A picture of numbers in [0, 1] as 8-bit grey."""
    img = tensor.detach().float().squeeze().clamp(0, 1).numpy()
    return (img * 255.0).round().astype(np.uint8)


def calculate_psnr(img, img2, crop_border):
    """Peak signal-to-noise ratio in dB, without the border."""
    if crop_border != 0:
        img = img[crop_border:-crop_border, crop_border:-crop_border]
        img2 = img2[crop_border:-crop_border, crop_border:-crop_border]
    mse = np.mean((img.astype(np.float64) - img2.astype(np.float64)) ** 2)
    if mse == 0:
        return 60.0
    return float(10.0 * np.log10(255.0**2 / mse))


def calculate_ssim(img, img2, crop_border):
    """Structural similarity with a flat window of 7 pixels, without the border."""
    if crop_border != 0:
        img = img[crop_border:-crop_border, crop_border:-crop_border]
        img2 = img2[crop_border:-crop_border, crop_border:-crop_border]
    x, y = (torch.from_numpy(one.astype(np.float64))[None, None] for one in (img, img2))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    pooled = F.avg_pool2d(torch.cat([x, y, x * x, y * y, x * y]), 7, stride=1)
    mu_x, mu_y, xx, yy, xy = pooled
    var_x, var_y, cov = xx - mu_x**2, yy - mu_y**2, xy - mu_x * mu_y
    ssim = (2 * mu_x * mu_y + c1) * (2 * cov + c2) / ((mu_x**2 + mu_y**2 + c1) * (var_x + var_y + c2))
    return float(ssim.mean())
