"""The cases of the clinic, found by folder: each has a `case.py` that holds `CASE`."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

from stethoscope.clinic import cases as folder
from stethoscope.clinic.case import Case, Size
from stethoscope.errors import StethoscopeError


@cache
def cases() -> tuple[Case, ...]:
    """Every case, the sick ones before those that only look so, in the order of their names."""
    found = [
        import_module(f"{folder.__name__}.{file.parent.name}.case").CASE
        for file in Path(folder.__path__[0]).glob("*/case.py")
    ]
    return tuple(sorted(found, key=lambda case: (case.benign, case.name)))


def case_called(name: str) -> Case:
    """The case of that name; raises StethoscopeError where there is none."""
    names = [case.name for case in cases()]
    wanted = name.replace("_", "-").lower()
    if wanted in names:
        return cases()[names.index(wanted)]
    meant = get_close_matches(wanted, names, 1)
    hint = f" Did you mean {meant[0]}?" if meant else f" There are: {', '.join(names)}."
    raise StethoscopeError(f"the clinic has no case {name}.{hint}")


def size_called(case: Case, name: str) -> Size:
    """The size of that name; raises StethoscopeError where the case has none."""
    for size in case.sizes:
        if size.name == name:
            return size
    raise StethoscopeError(
        f"{case.name} has no size {name}; it has {', '.join(size.name for size in case.sizes)}."
    )
