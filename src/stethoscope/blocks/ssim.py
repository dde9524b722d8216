"""Measures how alike two images look (SSIM, MS-SSIM), and gives losses that make them more alike.

## What it does
`ssim_index` compares brightness, contrast and structure in a Gaussian window that slides over the images
(11 pixels, sigma 1.5), and gives one number for each image of the batch: 1 for equal images, near 0 for
unrelated ones, below 0 for inverted ones. Only windows that lie inside the image count; nothing is padded.
`ms_ssim_index` does so at five sizes, each half the one before (an odd last row or column is dropped), and
multiplies the results. `SSIMLoss` and `MSSSIMLoss` are `1 - similarity`, averaged over the batch.
`data_range` is white minus black: 1 for images in [0, 1], 2 for [-1, 1], 255 for bytes. Everything runs in
float32. Each channel is compared for itself.

## The failure it prevents
*The wrong sign.* The super-resolution system had a class `SSIMLoss` that returned the similarity. Training
minimises what it is given, so a weight of .05 drove SSIM down: rebuilt in small, SSIM went from .662 to .554
and PSNR from 24.5 to 20.6 dB in 2500 steps, while the training loss fell; with `1 - similarity` they rose to
.828 and 27.5 dB. *A gradient without end.* MS-SSIM takes contrast to a power below 1; for a contrast of 0
the slope is infinite, for a negative one, as of a prediction that is light where it should be dark, the
result is NaN. Here contrast is held above 1e-4. *Half precision.* Variance is a difference of two squares
that are nearly equal: in float16 the variance of a texture of +-.002 around 1 comes out as 0. The sums here
are no convolutions, as those round float32 to 10 bits on recent GPUs (TF32).

## When not to use it
SSIM weighs structure and hardly colour or a small offset: use it beside a pixel loss, not alone. An image
smaller than the window has no SSIM, and with five sizes MS-SSIM needs 176 pixels; on smaller crops pass
fewer `weights`. Where contrast is held at its floor, that size gives no gradient: at the very start of
training plain SSIM is the safer loss. As a published metric say which variant was used (window, channels,
range): values differ in the second digit.

## Example

    import torch
    from stethoscope.blocks.ssim import SSIMLoss, ssim_index

    target = torch.rand(2, 3, 32, 32)
    prediction = (target + 0.1 * torch.randn(2, 3, 32, 32)).requires_grad_()
    loss = SSIMLoss(data_range=1.0)(prediction, target)
    loss.backward()
    print(ssim_index(prediction, target), 1 - loss)

## References
- Wang et al., Image Quality Assessment: From Error Visibility to Structural Similarity, 2004
- Wang, Simoncelli and Bovik, Multiscale Structural Similarity for Image Quality Assessment, 2003
- `skimage.metrics.structural_similarity` (the same with `gaussian_weights=True, sigma=1.5,
  use_sample_covariance=False`)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks._image_pair import check_pair
from stethoscope.blocks.fp32_island import fp32_island

WINDOW = 11  # pixels; with SIGMA, the window of the 2004 paper
SIGMA = 1.5
SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # of the 2003 paper, finest first
_K1, _K2 = 0.01, 0.03  # of the 2004 paper: they keep the quotients of dark, flat windows finite

# Under a power of .0448 the slope at this floor is 300; at 0 it would be infinite.
CONTRAST_FLOOR = 1e-4


@fp32_island
def ssim_index(
    prediction: Tensor,
    target: Tensor,
    *,
    data_range: float = 1.0,
    window_size: int = WINDOW,
    sigma: float = SIGMA,
) -> Tensor:
    """Give the structural similarity of each image of a batch (N, C, H, W), 1 for equal images."""
    _check(prediction, target, data_range, window_size, sigma, sizes=1)
    window = _gaussian(window_size, sigma)
    return _similarity(prediction, target, window, data_range).whole.mean(dim=1)


@fp32_island
def ms_ssim_index(
    prediction: Tensor,
    target: Tensor,
    *,
    data_range: float = 1.0,
    window_size: int = WINDOW,
    sigma: float = SIGMA,
    weights: Sequence[float] = SCALE_WEIGHTS,
) -> Tensor:
    """Give the similarity at several sizes of each image of a batch (N, C, H, W), 1 for equal images."""
    if not weights:
        raise ValueError("weights is empty; give one number for each size, such as SCALE_WEIGHTS.")
    _check(prediction, target, data_range, window_size, sigma, sizes=len(weights))
    window = _gaussian(window_size, sigma)
    result = torch.ones_like(prediction[:, :, 0, 0])
    for weight in weights[:-1]:
        contrast = _similarity(prediction, target, window, data_range).contrast
        result = result * contrast.clamp(min=CONTRAST_FLOOR) ** weight
        prediction, target = functional.avg_pool2d(prediction, 2), functional.avg_pool2d(target, 2)
    whole = _similarity(prediction, target, window, data_range).whole
    return (result * whole.clamp(min=CONTRAST_FLOOR) ** weights[-1]).mean(dim=1)


class SSIMLoss(nn.Module):
    """`1 - SSIM` of a batch (N, C, H, W): 0 for equal images."""

    def __init__(self, data_range: float = 1.0, window_size: int = WINDOW, sigma: float = SIGMA) -> None:
        super().__init__()
        self.data_range = data_range
        self.window_size = window_size
        self.sigma = sigma

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Give the loss as a number in float32."""
        index = ssim_index(
            prediction,
            target,
            data_range=self.data_range,
            window_size=self.window_size,
            sigma=self.sigma,
        )
        return 1 - index.mean()

    def extra_repr(self) -> str:
        """Say what range of pixels and which window is used."""
        return f"data_range={self.data_range:g}, window_size={self.window_size}, sigma={self.sigma:g}"


class MSSSIMLoss(nn.Module):
    """`1 - MS-SSIM` of a batch (N, C, H, W): 0 for equal images."""

    def __init__(
        self,
        data_range: float = 1.0,
        window_size: int = WINDOW,
        sigma: float = SIGMA,
        weights: Sequence[float] = SCALE_WEIGHTS,
    ) -> None:
        super().__init__()
        self.data_range = data_range
        self.window_size = window_size
        self.sigma = sigma
        self.weights = tuple(weights)

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Give the loss as a number in float32."""
        index = ms_ssim_index(
            prediction,
            target,
            data_range=self.data_range,
            window_size=self.window_size,
            sigma=self.sigma,
            weights=self.weights,
        )
        return 1 - index.mean()

    def extra_repr(self) -> str:
        """Say what range of pixels, which window and how many sizes are used."""
        window = f"window_size={self.window_size}, sigma={self.sigma:g}"
        return f"data_range={self.data_range:g}, {window}, sizes={len(self.weights)}"


class _Similarity(NamedTuple):
    """The mean over all windows of each channel (N, C)."""

    whole: Tensor  # brightness, contrast and structure
    contrast: Tensor  # contrast and structure alone


def _check(
    prediction: Tensor, target: Tensor, data_range: float, window_size: int, sigma: float, sizes: int
) -> None:
    check_pair(prediction, target)
    if prediction.dim() != 4:
        raise ValueError(f"the shape is {tuple(prediction.shape)}; give batches of images, (N, C, H, W).")
    if not (math.isfinite(data_range) and data_range > 0):
        raise ValueError(f"data_range is {data_range}; give white minus black, 1 for images in [0, 1].")
    if window_size < 1 or window_size % 2 == 0 or not sigma > 0:
        raise ValueError(
            f"window_size is {window_size} and sigma {sigma}; give an odd size and sigma above 0."
        )
    height, width = prediction.shape[-2:]
    if min(height, width) >> (sizes - 1) < window_size:
        raise ValueError(_too_small(height, width, window_size, sizes))


def _too_small(height: int, width: int, window_size: int, sizes: int) -> str:
    needed = window_size << (sizes - 1)
    what = f"a window of {window_size}" if sizes == 1 else f"a window of {window_size} at {sizes} sizes"
    instead = "a smaller window_size" if sizes == 1 else "fewer weights or a smaller window_size"
    return (
        f"an image of {height} x {width} is too small: {what} needs {needed} pixels a side; pass {instead}."
    )


def _gaussian(size: int, sigma: float) -> tuple[float, ...]:
    offsets = [index - (size - 1) / 2 for index in range(size)]
    heights = [math.exp(-offset * offset / (2 * sigma * sigma)) for offset in offsets]
    return tuple(height / sum(heights) for height in heights)


def _similarity(x: Tensor, y: Tensor, window: tuple[float, ...], data_range: float) -> _Similarity:
    bright, flat = (_K1 * data_range) ** 2, (_K2 * data_range) ** 2
    mean_x, mean_y, square_x, square_y, product = _windowed(window, x, y, x * x, y * y, x * y)
    # Rounding can leave a variance a hair below zero.
    variances = (square_x - mean_x.square()).clamp(min=0) + (square_y - mean_y.square()).clamp(min=0)
    contrast = (2 * (product - mean_x * mean_y) + flat) / (variances + flat)
    brightness = (2 * mean_x * mean_y + bright) / (mean_x.square() + mean_y.square() + bright)
    return _Similarity((brightness * contrast).mean(dim=(2, 3)), contrast.mean(dim=(2, 3)))


def _windowed(window: tuple[float, ...], *maps: Tensor) -> tuple[Tensor, ...]:
    """Give the weighted means of all maps in every window that lies inside."""
    means = torch.stack(maps)
    for dim in (-2, -1):
        means = _slid(window, means, dim)
    return means.unbind(0)


def _slid(window: tuple[float, ...], x: Tensor, dim: int) -> Tensor:
    # Not a convolution: on a GPU those round float32 to 10 bits (TF32), too few for a difference of squares.
    length = x.shape[dim] - len(window) + 1
    total = window[0] * x.narrow(dim, 0, length)
    for start, weight in enumerate(window[1:], start=1):
        total = torch.add(total, x.narrow(dim, start, length), alpha=weight)
    return total
