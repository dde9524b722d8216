"""What two images must have in common before a loss compares them."""

from __future__ import annotations

from torch import Tensor


def check_pair(prediction: Tensor, target: Tensor) -> None:
    """Raise where two images cannot be compared number by number."""
    if prediction.shape != target.shape:
        # Broadcasting would compare every image with every other, and give a loss that looks fine.
        raise ValueError(
            f"the prediction has the shape {tuple(prediction.shape)} and the target {tuple(target.shape)}; "
            "give both the same shape."
        )
    if prediction.numel() == 0:
        raise ValueError(f"the shape {tuple(prediction.shape)} holds no pixels; the mean of nothing is NaN.")
    for name, image in (("prediction", prediction), ("target", target)):
        if not image.is_floating_point():
            raise TypeError(f"the {name} is of {image.dtype}; convert it to floating point first.")
