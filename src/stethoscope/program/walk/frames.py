"""One function being followed, and the names that a function defined inside it can see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stethoscope.program.index import Class, Function, Module
from stethoscope.program.walk.values import FunctionValue, Value


@dataclass(slots=True)
class Frame:
    """One function being followed: its names, those around it, and what it gave back so far."""

    module: Module
    names: dict[str, Value]
    around: Mapping[str, Value] = field(default_factory=dict)
    function: Function | None = None
    cls: Class | None = None
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)


class Around(Mapping[str, Value]):
    """The live names of the frame that a local function was defined in."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Value:
        if name in self._frame.names:
            return self._frame.names[name]
        return self._frame.around[name]

    def __contains__(self, name: object) -> bool:
        return name in self._frame.names or name in self._frame.around

    def __iter__(self) -> Iterator[str]:
        return iter({**self._frame.around, **self._frame.names})

    def __len__(self) -> int:
        return len(self._frame.names) + len(self._frame.around)

    @property
    def cls(self) -> Class | None:
        """The class of the method around."""
        return self._frame.cls


def class_around(callee: FunctionValue) -> Class | None:
    """The class of the method that a local function was defined in."""
    return callee.around.cls if isinstance(callee.around, Around) else None
