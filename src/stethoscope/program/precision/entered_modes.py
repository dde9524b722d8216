"""The mode that code runs in behind a region of autocast or a decorator."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.program.precision.autocast import HALVES, Autocast, DType
from stethoscope.program.precision.tensor_types import Held, Mode

TENSORS = frozenset({DType.FLOAT32, DType.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Entering:
    """What a decorator does before its function begins."""

    region: Autocast | None
    cast: DType | None

    def __call__(self, mode: Mode, names: dict[str, Held]) -> tuple[Mode, dict[str, Held]]:
        if self.cast is not None:
            cast = self.cast
            names = {
                name: replace(held, dtype=cast) if held.dtype in HALVES | TENSORS else held
                for name, held in names.items()
            }
        return entered(mode, self.region), names


def entered(mode: Mode, region: Autocast | None) -> Mode:
    """The mode inside a region."""
    if region is None:
        return mode
    if region.is_off:
        return replace(mode, half=None)
    dtypes = region.dtypes & HALVES
    if not dtypes:  # a type that could not be resolved
        return replace(mode, half=DType.FLOAT16, certain=False)
    half = DType.FLOAT16 if DType.FLOAT16 in dtypes else DType.BFLOAT16
    return replace(mode, half=half, certain=mode.certain and region.known and len(dtypes) == 1)
