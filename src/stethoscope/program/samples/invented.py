"""Pictures that samples are made of: the same scene in what a network sees and in what it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
HEIGHT, WIDTH = 96, 128
BLOCKS = (7, 10, 9, 6)  # sides of what a scene is made of: no resize meets all of its edges
DARK, BRIGHT = 50, 190
OF_CHANNELS = (0, 15, 30)  # what is added to red, green and blue
BRIGHTEST = BRIGHT + max(OF_CHANNELS)
# Numbers of the two classes: as files of masks, of labels and of Cityscapes have them.
CLASSES = ((0, 255), (0, 1), (7, 26), (1, 2))


@dataclass(frozen=True, slots=True)
class Scene:
    """What is shown: the number of a scene for either role, and classes, None where targets are pictures."""

    of_input: int = 1
    of_target: int = 1
    classes: tuple[int, int] | None = None
    ratio: int = 1  # how much larger a target is
    zoom: int = 1  # how much larger both are than they need to be

    def pictures(self) -> Callable[[str, bool], Array]:
        """What a file of a role holds, in one channel or three."""

        def picture(role: str, is_colour: bool) -> Array:
            if role == "target" and self.classes is not None:
                bits = _bits(self.of_target, self.zoom)
                label = np.where(bits, *self.classes[::-1]).astype(np.uint8)
                return np.stack([label] * 3, -1) if is_colour else label
            shown = _shown(self.of_target if role == "target" else self.of_input, self.zoom)
            return shown if role == "target" else _smaller(shown, self.ratio)

        return picture


def _bits(number: int, zoom: int) -> Array:
    rng = np.random.default_rng(number)
    rows, columns = (np.tile(BLOCKS, side // sum(BLOCKS)) for side in (HEIGHT, WIDTH))
    bits = rng.random((len(rows), len(columns))) < 0.5
    return np.repeat(np.repeat(bits, rows * zoom, 0), columns * zoom, 1)


def _shown(number: int, zoom: int) -> Array:
    levels = np.where(_bits(number, zoom), BRIGHT, DARK)
    return np.stack([levels + more for more in OF_CHANNELS], -1).astype(np.uint8)


def _smaller(x: Array, ratio: int) -> Array:
    if ratio == 1:
        return x
    blocks = x.reshape(x.shape[0] // ratio, ratio, x.shape[1] // ratio, ratio, 3)
    return np.asarray(np.round(blocks.mean((1, 3))), dtype=np.uint8)
