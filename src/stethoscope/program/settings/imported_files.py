"""Which files of a repository a file imports, directly or through others."""

from __future__ import annotations

from stethoscope.program.index import Class, Function, Index, Module, Variable
from stethoscope.program.remembered import remembered
from stethoscope.run import Source

MOST_FILES = 400  # looked through from one file; beyond them everything counts as imported


@remembered
def imported_files(index: Index, source: Source) -> frozenset[str]:
    """The names of the files that running this file brings in, itself included."""
    found = {source.file}
    waiting = [index.module_of(source)]
    while waiting:
        module = waiting.pop()
        if len(found) > MOST_FILES:
            return frozenset(other.file for other in index.program)
        for home in _imported(module, index):
            if home.source.file not in found:
                found.add(home.source.file)
                waiting.append(home)
    return frozenset(found)


def _imported(module: Module, index: Index) -> list[Module]:
    found = []
    for name in (*module.imports, *module.stars):
        target = index.named(name) if name in module.stars else index.resolve(module, name)
        if isinstance(target, Module):
            found.append(target)
        elif isinstance(target, Function | Class | Variable):
            found.append(index.module_of(target.source))
    return found
