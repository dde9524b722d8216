"""The functions of files that say something: most questions are about words that most files do not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stethoscope.program.index import Function, Index
from stethoscope.program.walk.entries import is_test


def telling_bodies(index: Index, says: Callable[[str], object]) -> Iterator[Function]:
    """The bodies of code outside tests whose file says something; each file is asked once."""
    telling = {id(source) for source in index.program if not is_test(source) and says(source.text)}
    return (body for body in index.bodies if id(body.source) in telling)


def telling_functions(index: Index, says: Callable[[str], object]) -> Iterator[Function]:
    """The same without the top level of files."""
    telling = {id(source) for source in index.program if not is_test(source) and says(source.text)}
    return (function for function in index.functions if id(function.source) in telling)
