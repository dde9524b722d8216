import numpy as np


def tensor2img(t):
    """(1, h, w) in [0, 1] -> uint8 (h, w)"""
    return (t.squeeze(0).float().clamp(0, 1).cpu().numpy() * 255.0).round().astype(np.uint8)


def calculate_psnr(img, img2, crop_border):
    """of two images in [0, 255]"""
    if crop_border:
        img = img[crop_border:-crop_border, crop_border:-crop_border]
        img2 = img2[crop_border:-crop_border, crop_border:-crop_border]
    mse = np.mean((img.astype(np.float64) - img2.astype(np.float64)) ** 2)
    return float("inf") if mse == 0 else float(10.0 * np.log10(255.0**2 / mse))
