"""What is computed without torch: arrays of a bounded size, or the word that it cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Operation = Callable[..., Any]

LARGEST = 2_000_000  # elements of one array


class CannotCompute(Exception):
    """The operation is unknown, or its arguments do not fit."""


class TooLarge(CannotCompute):
    """What is to be computed is too large for an experiment."""


def checked(result: Any) -> Any:
    """Give a result back unless it is too large or no number."""
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, np.ndarray) and (result.size > LARGEST or result.dtype == object):
        raise TooLarge("the array is too large")
    return result
