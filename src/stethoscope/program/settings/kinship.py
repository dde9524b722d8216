"""Which classes of a repository may stand behind the same `self`."""

from __future__ import annotations

from stethoscope.program.index import Class, Index
from stethoscope.program.remembered import remembered


class Kinship:
    """Classes joined by inheritance, however distantly: a mixin and its host share their attributes."""

    def __init__(self, index: Index) -> None:
        self._elders: dict[int, int] = {id(cls): id(cls) for cls in index.classes}
        for cls in index.classes:
            for base in cls.bases:
                target = index.resolve(index.module_of(cls.source), base)
                if isinstance(target, Class):
                    self._elders[self._eldest(id(cls))] = self._eldest(id(target))

    def are_kin(self, one: Class, other: Class) -> bool:
        """Whether an object may be of both classes."""
        return self._eldest(id(one)) == self._eldest(id(other))

    def _eldest(self, cls: int) -> int:
        while self._elders[cls] != cls:
            self._elders[cls] = self._elders[self._elders[cls]]
            cls = self._elders[cls]
        return cls


@remembered
def kinship(index: Index) -> Kinship:
    """The kinship of all classes; asking twice costs once."""
    return Kinship(index)
