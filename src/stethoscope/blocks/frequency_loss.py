"""Compares the spectra of two images, with a size that does not depend on the crop.

## What it does
`fft_l1` is the mean absolute difference of the two-dimensional Fourier coefficients, real and imaginary
parts counted as two numbers. Phase therefore counts as well as strength: a shifted edge is an error, which
a comparison of magnitudes would not see. The transform is orthonormal (`norm="ortho"`) and always runs in
float32. As it is linear, the difference of the images is transformed, once.
Only half of the spectrum of a real image is computed, and its coefficients are weighted so that the value is
that of the whole (the other half is its mirror). `half_spectrum=False` computes all of it, for comparison.

## The failure it prevents
A plain `fft2` sums over H * W pixels, so its coefficients grow with the side of the crop. For an error of
standard deviation .02 the usual term, `0.1 * FFT`, is 9 times the L1 term on crops of 128 and 18 times on
crops of 256: change the crop, and the balance of the losses changes with it. The deblurring system met
this, and repaired it by dividing by H * W: then the term is 5.5e-4 and 2.8e-4 of L1, that is, switched off,
and still depends on the crop. Orthonormal, it is .07 of L1 at every size: 0.1 / sqrt(2).
And in half precision: under autocast on a GPU the transform of a half tensor runs in half (power-of-two
sizes only), where the sum of a 256 x 256 image of ones is 65536, which is infinity in float16.

## When not to use it
Where targets are not aligned with predictions to a fraction of a pixel, phase punishes what no one sees; a
perceptual loss is the better tool. An orthonormal spectrum has the same energy as the image (Parseval), so
*squared* error of the spectrum is exactly the squared error of the pixels: only L1 makes a difference. A
weight tuned for an un-normalised loss must be tuned again; on crops of side n multiply it by n.

## Example

    import torch
    from stethoscope.blocks.frequency_loss import FrequencyLoss, fft_l1

    sharp, restored = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 64, 64, requires_grad=True)
    loss = (restored - sharp).abs().mean() + 0.1 * FrequencyLoss()(restored, sharp)
    loss.backward()
    print(fft_l1(restored, sharp))

## References
- Kong et al., Efficient Frequency Domain-based Transformers for High-Quality Image Deblurring, 2023
- `torch.fft.rfft2`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stethoscope.blocks._image_pair import check_pair
from stethoscope.blocks.fp32_island import fp32_island


@fp32_island
def fft_l1(prediction: Tensor, target: Tensor, *, half_spectrum: bool = True) -> Tensor:
    """Give the mean absolute difference of two orthonormal spectra over the last two dimensions."""
    check_pair(prediction, target)
    if prediction.dim() < 2:
        raise ValueError(f"the shape {tuple(prediction.shape)} is no image; give at least height and width.")
    difference = prediction - target
    if not half_spectrum:
        return torch.view_as_real(torch.fft.fft2(difference, norm="ortho")).abs().mean()
    width = difference.shape[-1]
    parts = torch.view_as_real(torch.fft.rfft2(difference, norm="ortho")).abs().mean(-1)
    return (parts * _times_in_spectrum(width, parts)).mean(dim=(*range(parts.dim() - 1),)).sum() / width


class FrequencyLoss(nn.Module):
    """Mean absolute difference of two spectra in float32, the same size on every crop."""

    def __init__(self, half_spectrum: bool = True) -> None:
        super().__init__()
        self.half_spectrum = half_spectrum

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Give the loss as a number in float32."""
        return fft_l1(prediction, target, half_spectrum=self.half_spectrum)

    def extra_repr(self) -> str:
        """Say whether half of the spectrum is computed, or all of it."""
        return f"half_spectrum={self.half_spectrum}"


def _times_in_spectrum(width: int, like: Tensor) -> Tensor:
    """Count how often each stored column stands in the whole spectrum of a real image."""
    column = torch.arange(width // 2 + 1, device=like.device)
    # The first column, and the last of an even width, are their own mirrors.
    alone = (column == 0) | (2 * column == width)
    return torch.where(alone, 1.0, 2.0).to(like.dtype)
