"""What stands in for a size that is not known, by what it is called.

A network whose settings come from where no walk can follow is still wired in the same way. Depths are small,
so that it is computed quickly; widths have many divisors, for heads and groups that divide them.
"""

from __future__ import annotations

from typing import Any

from stethoscope.program.experiments.things import Invented
from stethoscope.program.likenesses import words

WIDTH = 24  # many head counts divide it
_BY_WORD: dict[str, int] = {
    **dict.fromkeys(("layer", "layers", "depth", "blocks", "stages", "levels", "repeats"), 2),
    **dict.fromkeys(("head", "heads", "groups", "experts"), 4),
    **dict.fromkeys(("kernel", "ks"), 3),
    **dict.fromkeys(("stride", "dilation"), 1),
}
_CHANCES = frozenset({"dropout", "drop", "dropouts", "p"})  # no number of these changes the wiring


def invented(name: str = "") -> Any:
    """A number for an argument or setting of this name."""
    said = words(name)
    if _CHANCES.intersection(said):
        return 0.0
    for word in reversed(said):
        if word in _BY_WORD:
            return Invented(_BY_WORD[word])
    return Invented(WIDTH)
