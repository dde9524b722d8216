"""The address of a piece of source."""

from __future__ import annotations

import ast

import pytest

from stethoscope.run import Source, Where


def address(text: str, name: str) -> Where:
    tree = ast.parse(text)
    node = next(node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return Source("a.py", "a", text, tree).where(node)


@pytest.mark.parametrize("before", ["", "'abc', ", "'\u00e9\u00e9', ", "'\U0001f600', "])
def test_columns_count_characters_whatever_the_parser_counts(before: str) -> None:
    place = address(f"x = 1\nf({before}wanted)\n", "wanted")
    column = len(f"f({before}") + 1
    assert (place.line, place.column, place.end) == (2, column, (2, column + 6))


def test_two_addresses_on_one_line_are_the_same() -> None:
    assert address("a = b", "a") == address("a = b", "b")
    assert hash(Where("a.py", line=1)) == hash(Where("a.py", line=1, column=7))
    assert str(Where("a.py", line=1, column=7)) == "a.py:1"


def test_a_whole_module_begins_at_its_first_line() -> None:
    tree = ast.parse("x = 1\n")
    assert Source("a.py", "a", "x = 1\n", tree).where(tree) == Where("a.py", line=1)
