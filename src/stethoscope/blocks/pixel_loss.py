"""Compares two images pixel by pixel, in float32 and only where they count.

## What it does
`l1` is the mean of the absolute differences, `charbonnier` the mean of `sqrt(difference^2 + eps^2)`, which
is L1 with a rounded tip: smooth at zero, so gradients die out as the error does. `eps` is in units of the
pixels (1e-3 of an image in [0, 1]).
With `weight` (a mask of 0 and 1, or any weights that broadcast to the images) it is the mean over what
counts: `sum(weight * error) / sum(weight)`. Where the weight is zero not even a NaN comes through, and
where it is zero everywhere the loss is 0 with a gradient of 0. Half-precision images are compared in
float32 and give a float32 loss.

## The failure it prevents
Three, all silent. (1) *Padding dilutes the loss.* The diffusion prior filled three of its four channels
with zeros; a plain mean counts them, and the logged loss read .06 where the loss of the real channel was
.20. (2) *The tip turns into a cliff in half precision.* `eps^2` of 1e-12, as some recipes have it, is 0 in
float16, and the gradient of `sqrt(0)` is NaN on the first pixel that is exactly right. (3) *The square
overflows.* An image in [0, 255] that is off by 256 gives infinity in float16: 256^2 is 65536, the largest
float16 is 65504.

## When not to use it
Where large errors should weigh more (fit to Gaussian noise, PSNR as the only goal) squared error is the
better choice. A pixel loss alone blurs what it cannot predict; add `frequency_loss` or `ssim` if fine
detail matters. A weight is no way to balance two losses: it is a mean, so doubling every weight changes
nothing.

## Example

    import torch
    from stethoscope.blocks.pixel_loss import CharbonnierLoss, l1

    prediction, target = torch.rand(2, 4, 8, 8), torch.rand(2, 4, 8, 8)
    real = torch.tensor([1.0, 0.0, 0.0, 0.0]).view(1, 4, 1, 1)  # three channels are padding
    loss = CharbonnierLoss(eps=1e-3)(prediction, target, weight=real)
    print(l1(prediction, target, weight=real), loss)

## References
- Charbonnier et al., Two deterministic half-quadratic regularization algorithms for computed imaging, 1994
- Lai et al., Deep Laplacian Pyramid Networks for Fast and Accurate Super-Resolution, 2017
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stethoscope.blocks._image_pair import check_pair
from stethoscope.blocks.fp32_island import fp32_island

EPS = 1e-3  # a quarter of one step of an 8-bit image in [0, 1]: below it an error is as good as none


@fp32_island
def l1(prediction: Tensor, target: Tensor, *, weight: Tensor | None = None) -> Tensor:
    """Give the mean absolute difference, over what has a weight."""
    return _mean(_difference(prediction, target, weight).abs(), weight)


@fp32_island
def charbonnier(
    prediction: Tensor, target: Tensor, *, eps: float = EPS, weight: Tensor | None = None
) -> Tensor:
    """Give the mean of `sqrt(difference^2 + eps^2)`, over what has a weight."""
    if not eps > 0:
        raise ValueError(f"eps is {eps}; give a number above 0, such as {EPS}, or take l1.")
    difference = _difference(prediction, target, weight)
    return _mean((difference.square() + eps * eps).sqrt(), weight)


class L1Loss(nn.Module):
    """Mean absolute difference in float32, over what has a weight."""

    def forward(self, prediction: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """Give the loss as a number in float32."""
        return l1(prediction, target, weight=weight)


class CharbonnierLoss(nn.Module):
    """L1 with a rounded tip, in float32, over what has a weight."""

    def __init__(self, eps: float = EPS) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, prediction: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """Give the loss as a number in float32."""
        return charbonnier(prediction, target, eps=self.eps, weight=weight)

    def extra_repr(self) -> str:
        """Say how far the tip is rounded."""
        return f"eps={self.eps:g}"


def _difference(prediction: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    check_pair(prediction, target)
    difference = prediction - target
    if weight is None:
        return difference
    if not _broadcasts(weight, difference):
        raise ValueError(
            f"the weight has the shape {tuple(weight.shape)}, which does not broadcast to the images' "
            f"{tuple(difference.shape)}."
        )
    # Taken out before the error is made: 0 * NaN would be NaN, in the loss and in the gradient.
    return torch.where(weight == 0, 0.0, difference)


def _broadcasts(weight: Tensor, images: Tensor) -> bool:
    sides = zip(reversed(weight.shape), reversed(images.shape), strict=False)
    return weight.dim() <= images.dim() and all(given in (1, wanted) for given, wanted in sides)


def _mean(error: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None:
        return error.mean()
    weights = weight.to(error.dtype).expand_as(error)
    total = weights.sum()
    # Nothing counts: the sum above is 0 too, and 0 / 1 is a loss of 0.
    return (weights * error).sum() / torch.where(total == 0, 1.0, total)
