"""Normalises the channels of each pixel (LayerNorm, RMSNorm), with statistics in float32.

## What it does
`image_layer_norm` takes images (N, C, H, W) and gives each pixel the mean 0 and the variance 1 over its
channels, times a weight and plus a bias for each channel; `image_rms_norm` divides by the root of the mean
square and subtracts nothing. Statistics and division are computed in float32, whatever the type of the
input; the output has the input's type. The result is that of `F.layer_norm` on the image with its channels
last, without moving them. The modules call their parameters `weight` and `bias`.

## The failure it prevents
A norm written by hand (`x.var()`, `torch.sqrt`) is in no list of autocast and runs in half precision. The
deblurring system had one. (1) The largest float16 is 65504, so from a standard deviation of 256 the variance
is infinity and `x / sqrt(inf)` is **0**: the layer goes silent, and nothing is NaN, so nothing is noticed.
(2) Backward, at a standard deviation of 1e-3 and 192 channels, 81 % of the gradients are not finite for a
gradient of size 1 from above: its sums overflow on the way, while the largest true value is 1147. People
raise eps from 1e-5 to 1e-4: that helps against (2), not against (1), and changes the function. With float32
inside neither happens.

## When not to use it
`F.layer_norm` itself has float32 statistics; where channels come last, use it. In a network without half
precision this is a plain LayerNorm. The float32 copies cost memory: about three maps of the input's shape
live until the backward pass, unless the network is compiled. A pixel whose channels are all equal becomes 0
(and the bias): if the level itself carries meaning, RMSNorm keeps its sign.

## Example

    import torch
    from stethoscope.blocks.image_norm import ImageLayerNorm, image_layer_norm

    x = (300 * torch.randn(2, 48, 8, 8)).half()
    norm = ImageLayerNorm(48)
    print(norm(x).float().std(), image_layer_norm(x).dtype)

## References
- Ba, Kiros and Hinton, Layer Normalization, 2016
- Zhang and Sennrich, Root Mean Square Layer Normalization, 2019
- `torch.nn.functional.layer_norm`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stethoscope.blocks.fp32_island import fp32_island

EPS = 1e-5  # the default of torch.nn.LayerNorm


def image_layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = EPS
) -> Tensor:
    """Give each pixel of an image (N, C, H, W) mean 0 and variance 1 over its channels."""
    _check(x, weight, bias)
    return _layer_norm(x, weight, bias, eps).to(x.dtype)


def image_rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = EPS) -> Tensor:
    """Give each pixel of an image (N, C, H, W) a mean square of 1 over its channels."""
    _check(x, weight)
    return _rms_norm(x, weight, eps).to(x.dtype)


class ImageLayerNorm(nn.Module):
    """LayerNorm over the channels of images (N, C, H, W), with float32 statistics."""

    bias: Tensor | None

    def __init__(self, channels: int, eps: float = EPS, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.register_parameter("bias", nn.Parameter(torch.zeros(channels)) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        """Give the normalised image, in the type of the one given."""
        return image_layer_norm(x, self.weight, self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        """Say how many channels there are, and what is added to the variance."""
        return f"{self.weight.numel()}, eps={self.eps:g}, bias={self.bias is not None}"


class ImageRMSNorm(nn.Module):
    """RMSNorm over the channels of images (N, C, H, W), with float32 statistics."""

    def __init__(self, channels: int, eps: float = EPS) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Give the normalised image, in the type of the one given."""
        return image_rms_norm(x, self.weight, eps=self.eps)

    def extra_repr(self) -> str:
        """Say how many channels there are, and what is added to the mean square."""
        return f"{self.weight.numel()}, eps={self.eps:g}"


def _check(x: Tensor, *parameters: Tensor | None) -> None:
    if x.dim() != 4 or x.shape[1] == 0:
        raise ValueError(f"the shape is {tuple(x.shape)}; give images with channels, (N, C, H, W).")
    if not x.is_floating_point():
        raise TypeError(f"the image is of {x.dtype}; convert it to floating point first.")
    for parameter in parameters:
        if parameter is not None and parameter.shape != (x.shape[1],):
            raise ValueError(
                f"the image has {x.shape[1]} channels, and weight or bias the shape "
                f"{tuple(parameter.shape)}; give one number for each channel."
            )


@fp32_island
def _layer_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    centred = x - x.mean(dim=1, keepdim=True)
    return _scaled(centred * (centred.square().mean(dim=1, keepdim=True) + eps).rsqrt(), weight, bias)


@fp32_island
def _rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    return _scaled(x * (x.square().mean(dim=1, keepdim=True) + eps).rsqrt(), weight, None)


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x = x * weight.view(-1, 1, 1)
    return x if bias is None else x + bias.view(-1, 1, 1)
