"""Enlarges images by a whole number with the Magic Kernel, as a base for a network to add detail to.

## What it does
`magic_upsample` makes images (N, C, H, W) `scale` times as large. The Magic Kernel `m` is a smooth bump of
three pixels (the quadratic B-spline); *Magic Kernel Sharp 2021* is `m` after a sharpening with the weights
(-1, 6, -35, 204, -35, 6, -1) / 144, which takes back the blur of the bump almost exactly, over nine pixels.
`sharp=True`, the default, uses the second. Nothing is learned and nothing is saved: the weights follow from
the definition. They add up to 1 at every place, so a flat image stays flat, and pixels beyond the border are
copies of the nearest one inside, up to the corners. Pixel centres stay where they are (as with
`align_corners=False`). The sums run in float32; the output has the input's type.

## The failure it prevents
The super-resolution system adds a learned detail to such a base. Its own version padded with zeros: rebuilt
with its blend of .4, the outermost pixels of a flat image of 1 come out as .63, and as .40 in the corners,
and the network must learn to repair a border that it meets in no other place. Its "sharpening",
[-1, 0, 9, 16, 9, 0, -1] / 32, has a response of 0 at the finest detail: it is a low-pass, and blurs.
Measured on waves of 8 pixels a period enlarged by 2: 43.1 dB here, 39.3 dB by bicubic, 25.0 dB there (29.2
dB away from the border).

## When not to use it
The sharp kernel overshoots at hard edges by a tenth of the step: clamp before saving an image, not before a
loss. Photographs in gamma-encoded values are enlarged as they are; who needs linear light must convert.
For sizes that are no whole multiple, or for making images smaller, use a resampling library. Where the base
should be learned too, take a transposed convolution or a pixel shuffle.

## Example

    import torch
    from stethoscope.blocks.magic_kernel import MagicUpsample, magic_upsample

    low = torch.rand(1, 3, 16, 16)
    detail = torch.nn.Sequential(torch.nn.Conv2d(3, 12, 3, padding=1), torch.nn.PixelShuffle(2))
    high = MagicUpsample(scale=2)(low) + 0.05 * detail(low)
    print(high.shape, magic_upsample(torch.ones(1, 1, 4, 4), 3).sub(1).abs().max())

## References
- Costella, The Magic Kernel, 2021, https://johncostella.com/magic/
- `PIL.Image.Resampling.MKS2021`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks.fp32_island import fp32_island

# Weights of the neighbours at 0, 1, 2 and 3 pixels, in 144ths.
SHARP_2021 = (204, -35, 6, -1)
_WHOLE = 144
_REACH, _SHARP_REACH = 1, 4  # neighbours on each side that a kernel of 3 or of 9 pixels can touch


def magic_kernel(x: float) -> float:
    """Give the height of the Magic Kernel at a distance of `x` pixels."""
    if abs(x) <= 0.5:
        return 0.75 - x * x
    return 0.5 * max(1.5 - abs(x), 0.0) ** 2


def magic_kernel_sharp(x: float) -> float:
    """Give the height of Magic Kernel Sharp 2021 at a distance of `x` pixels."""
    neighbours = range(1 - len(SHARP_2021), len(SHARP_2021))
    return sum(SHARP_2021[abs(i)] * magic_kernel(x - i) for i in neighbours) / _WHOLE


def magic_upsample(x: Tensor, scale: int, *, sharp: bool = True) -> Tensor:
    """Make images (N, C, H, W) `scale` times as large, in the type they have."""
    _check_scale(scale)
    if x.dim() != 4 or x.shape[2] == 0 or x.shape[3] == 0:
        raise ValueError(f"the shape is {tuple(x.shape)}; give images with pixels, (N, C, H, W).")
    if not x.is_floating_point():
        raise TypeError(f"the image is of {x.dtype}; convert it to floating point first.")
    return _enlarged(x, scale, sharp).to(x.dtype)


class MagicUpsample(nn.Module):
    """Makes images (N, C, H, W) a whole number of times as large; nothing in it is learned."""

    def __init__(self, scale: int, sharp: bool = True) -> None:
        super().__init__()
        _check_scale(scale)
        self.scale = scale
        self.sharp = sharp

    def forward(self, x: Tensor) -> Tensor:
        """Give the enlarged images, in the type they have."""
        return magic_upsample(x, self.scale, sharp=self.sharp)

    def extra_repr(self) -> str:
        """Say how much larger images become, and by which kernel."""
        return f"scale={self.scale}, sharp={self.sharp}"


def _check_scale(scale: int) -> None:
    if not isinstance(scale, int) or scale < 1:
        raise ValueError(f"scale is {scale!r}; give a whole number of at least 1.")


@fp32_island
def _enlarged(x: Tensor, scale: int, sharp: bool) -> Tensor:
    weights = [_weights((place + 0.5) / scale - 0.5, sharp) for place in range(scale)]
    tall = _stretched(x, weights)
    return _stretched(tall.transpose(2, 3), weights).transpose(2, 3)


def _weights(place: float, sharp: bool) -> list[float]:
    """Give the weights of the neighbours for one place inside a pixel; 0 is its centre."""
    if sharp:
        return [magic_kernel_sharp(place - i) for i in range(-_SHARP_REACH, _SHARP_REACH + 1)]
    return [magic_kernel(place - i) for i in range(-_REACH, _REACH + 1)]


def _stretched(x: Tensor, weights: list[list[float]]) -> Tensor:
    """Make images as many times as tall as there are places inside a pixel."""
    reach = len(weights[0]) // 2
    padded = functional.pad(x, (0, 0, reach, reach), mode="replicate")
    places = [_slid(padded, row, x.shape[2]) for row in weights]
    # (image, channel, row, place, column): the places inside a pixel become rows next to each other.
    return torch.stack(places, dim=3).flatten(2, 3)


def _slid(padded: Tensor, weights: list[float], height: int) -> Tensor:
    # Not a convolution: on a GPU those round float32 to 10 bits (TF32), and a flat image is flat no more.
    total = weights[0] * padded.narrow(2, 0, height)
    for start, weight in enumerate(weights[1:], start=1):
        total = torch.add(total, padded.narrow(2, start, height), alpha=weight)
    return total
