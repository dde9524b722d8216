"""What a setting asks for, in the terms of a quantity."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Setting


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity by the name people know it by; `place` orders a table from the most asked about down."""

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class Amount:
    """A value in its unit: "step", "epoch", "sample", "token", "share" of the run, or "" where none is said.

    `part` says what of the quantity it is about, where it has several: `beta1`, a loss term, `global`.
    """

    value: object
    unit: str = ""
    part: str = ""

    @property
    def number(self) -> float | None:
        """The value where it is a number."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return float(self.value) if is_number else None  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Asked:
    """An amount and the setting that asks for it, under the name it has there."""

    amount: Amount
    setting: Setting
    name: str
    is_default: bool = False
