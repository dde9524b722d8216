"""Validation metrics on 8-bit RGB images shaped HWC, as papers on super-resolution report them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Plane = NDArray[np.float64]

WINDOW = 11
SIGMA = 1.5
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2


def calculate_psnr(img: Image, img2: Image, crop_border: int) -> float:
    """Return the peak signal-to-noise ratio in dB; infinite for equal images."""
    a, b = _cropped(img, crop_border), _cropped(img2, crop_border)
    mse = float(np.mean((a - b) ** 2))
    return float("inf") if mse == 0 else float(10 * np.log10(255**2 / mse))


def calculate_ssim(img: Image, img2: Image, crop_border: int) -> float:
    """Return the structural similarity, averaged over pixels and channels; 1 for equal images."""
    a, b = _cropped(img, crop_border), _cropped(img2, crop_border)
    mean_a, mean_b = _blur(a), _blur(b)
    var_a = _blur(a * a) - mean_a**2
    var_b = _blur(b * b) - mean_b**2
    cov = _blur(a * b) - mean_a * mean_b
    luminance = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    structure = (2 * cov + C2) / (var_a + var_b + C2)
    return float(np.mean(luminance * structure))


METRICS: dict[str, Callable[[Image, Image, int], float]] = {
    "calculate_psnr": calculate_psnr,
    "calculate_ssim": calculate_ssim,
}


def _cropped(image: Image, border: int) -> Plane:
    height, width = image.shape[:2]
    return image[border : height - border, border : width - border].astype(np.float64)


def _blur(plane: Plane) -> Plane:
    offsets = np.arange(WINDOW) - WINDOW // 2
    kernel = np.exp(-(offsets**2) / (2 * SIGMA**2))
    kernel /= kernel.sum()
    rows = plane.shape[0] - WINDOW + 1
    plane = np.sum([kernel[k] * plane[k : k + rows] for k in range(WINDOW)], axis=0)
    columns = plane.shape[1] - WINDOW + 1
    return np.asarray(np.sum([kernel[k] * plane[:, k : k + columns] for k in range(WINDOW)], axis=0))
