"""What belongs to a network that is being computed: its frames, its limits, and who watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stethoscope.program.experiments.things import Array, Spot
from stethoscope.program.index import Class, Module
from stethoscope.program.walk.bounded_arrays import CannotCompute

STEPS = 250_000  # expressions and statements for all that one network is asked
WORK = 1e9  # multiplications of one question, a second at most
WORK_TO_FIT = 3e8  # of one try to fit it; what needs more is made smaller
SECONDS = 4.0  # of computing for all networks of a program
SECONDS_OF_ONE = 2.5  # for one of them, with all that it is asked
SECONDS_TO_FIT = 1.2  # for what fits it
LONGEST = 4096  # elements of a list that is made by counting


class Unlisted(CannotCompute):
    """Something is done that no input would make known."""


class Watch:
    """What an experiment may look at while a network is computed."""

    def softmax(self, result: Array, axis: int, spot: Spot) -> None:
        """A softmax was taken."""

    def product(self, subscripts: str | None, operands: Sequence[Array], spot: Spot) -> None:
        """Tensors were multiplied; `subscripts` are einsum's, None for a product of matrices."""

    def broadcast(self, left: Array, right: Array) -> None:
        """An operator was applied to two tensors."""

    def attended(self, keys: int) -> None:
        """A layer of attention was asked, over so many keys."""

    def activated(self, name: str, before: Array, spot: Spot) -> None:
        """An activation was applied."""

    def silenced(self) -> None:
        """Something was multiplied by a switch that stands at zero."""

    def reshape(self, before: Array, after: Array, spot: Spot) -> None:
        """A tensor was given another shape."""


class Frame:
    """The names of one call."""

    __slots__ = ("around", "module", "names", "owner")

    def __init__(
        self, module: Module, names: dict[str, Any], around: Mapping[str, Any], owner: Class | None
    ) -> None:
        self.module = module
        self.names = names
        self.around = around
        self.owner = owner


class Live(Mapping[str, Any]):
    """The names around a function, as they are when it is called."""

    def __init__(self, frame: Frame, names: Mapping[str, Any]) -> None:
        self.frame = frame
        self.names = names

    def __getitem__(self, name: str) -> Any:
        return self.frame.names[name] if name in self.frame.names else self.names[name]

    def __contains__(self, name: object) -> bool:
        return name in self.frame.names or name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter({**self.names, **self.frame.names})

    def __len__(self) -> int:
        return len({**self.names, **self.frame.names})
