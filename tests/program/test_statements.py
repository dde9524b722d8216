"""Statements put beside others."""

from __future__ import annotations

import ast

from stethoscope.program.edits.statements import blocks_around, deeper, put_after, put_before
from stethoscope.run import Source, Splice


def source(text: str) -> Source:
    return Source("train.py", "train", text, ast.parse(text))


def done(text: str, splice: Splice) -> str:
    return text[: splice.start] + splice.text + text[splice.end :]


def beside(text: str, name: str, put: object) -> str:
    held = source(text)
    node = next(n for n in ast.walk(held.tree) if isinstance(n, ast.Name) and n.id == name)
    block, position = blocks_around(held, node)[0]
    assert callable(put)
    return done(text, put(held, block[position], "new()"))


def test_a_statement_gets_a_line_of_its_own() -> None:
    text = "for x in y:\n\ta()  # first\n\tb()\n"
    assert beside(text, "a", put_after) == "for x in y:\n\ta()  # first\n\tnew()\n\tb()\n"
    assert beside(text, "b", put_before) == "for x in y:\n\ta()  # first\n\tnew()\n\tb()\n"


def test_a_body_behind_its_header_stays_there() -> None:
    text = "for x in y: a(); b()\nc()\n"
    assert beside(text, "a", put_before) == "for x in y: new(); a(); b()\nc()\n"
    assert beside(text, "b", put_after) == "for x in y: a(); b(); new()\nc()\n"


def test_columns_count_characters_behind_wide_ones() -> None:
    text = "s = '\u00e9\u00e9'; a()\n"
    assert beside(text, "a", put_after) == "s = '\u00e9\u00e9'; a(); new()\n"


def test_a_file_that_ends_without_a_line_break() -> None:
    assert beside("a()", "a", put_after) == "a()\nnew()"


def test_the_indent_is_that_of_the_file() -> None:
    assert deeper(source("class A:\n  def f(self):\n    pass\n")) == "  "
    assert deeper(source("def f():\n\treturn 1\n")) == "\t"
    assert deeper(source("x = 1\n")) == "    "
