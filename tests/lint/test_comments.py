"""Comments that say a finding is known."""

from __future__ import annotations

import ast

import pytest

from stethoscope.findings import rule_named
from stethoscope.lint.comments import Ignores, ignores_in

RULE = rule_named("SET102")
OTHER = rule_named("COD101")


def python(text: str) -> Ignores:
    return ignores_in(text, ast.parse(text))


@pytest.mark.parametrize(
    "comment",
    [
        "# stethoscope: ignore[SET102]",
        "# stethoscope: ignore[COD101, SET102] the loader converts it",
        "#stethoscope:ignore[set102]",
        "# Stethoscope: ignore [number-is-a-string]",
        "# stethoscope: ignore[SET]",
        "# stethoscope: ignore",
        "# stethoscope: ignore because the loader converts it",
        "# noqa: E501  # stethoscope: ignore[settings]",
    ],
)
def test_a_comment_speaks_for_its_line(comment: str) -> None:
    ignores = python(f"a = 1\nb = 2  {comment}\nc = 3\n")
    assert [ignores.ignore(RULE, line) for line in (1, 2, 3)] == [False, True, False]
    assert ignores.problems == ()


def test_a_comment_with_a_code_leaves_other_rules_alone() -> None:
    ignores = python("b = 2  # stethoscope: ignore[SET102]\n")
    assert (ignores.ignore(RULE, 1), ignores.ignore(OTHER, 1)) == (True, False)


def test_a_comment_alone_speaks_for_the_line_below() -> None:
    ignores = python("# stethoscope: ignore[SET102] why:\n# it is converted\nb = 2\nc = 3\n")
    assert [ignores.ignore(RULE, line) for line in (3, 4)] == [True, False]


def test_a_comment_behind_code_does_not_speak_for_the_line_below() -> None:
    assert not python("a = 1  # stethoscope: ignore\nb = 2\n").ignore(RULE, 2)


def test_a_comment_on_the_first_line_speaks_for_the_whole_statement() -> None:
    text = "x = f(  # stethoscope: ignore[SET102]\n    1,\n    2,\n)\ny = 3\n"
    ignores = python(text)
    assert [ignores.ignore(RULE, line) for line in (1, 2, 3, 4, 5)] == [True, True, True, True, False]
    above = python("# stethoscope: ignore[SET102]\nx = f(\n    1,\n)\ny = 1\n")
    assert [above.ignore(RULE, line) for line in (3, 5)] == [True, False]
    last = python("x = f(\n    1,\n)  # stethoscope: ignore[SET102]\n")
    assert last.ignore(RULE, 2)


def test_a_comment_on_a_loop_speaks_for_its_head_only() -> None:
    ignores = python("for x in y:  # stethoscope: ignore\n    a = 1\n")
    assert [ignores.ignore(RULE, line) for line in (1, 2)] == [True, False]


def test_a_whole_file_is_ignored() -> None:
    ignores = python("# stethoscope: ignore-file[SET102]\na = 1\n" + "\n" * 50 + "b = 2\n")
    assert (ignores.ignore(RULE, 53), ignores.ignore(OTHER, 53), ignores.ignore(RULE, None)) == (
        True,
        False,
        True,
    )


def test_a_string_is_no_comment() -> None:
    assert not python('a = "# stethoscope: ignore"\n').ignore(RULE, 1)
    assert not python('"""\n# stethoscope: ignore-file\n"""\n').ignore(RULE, 2)


def test_comments_of_settings_files_count_too() -> None:
    ignores = ignores_in("a: 1e-4  # stethoscope: ignore[SET102]\n# stethoscope: ignore\nb: 1e-4\nc: 1\n")
    assert [ignores.ignore(RULE, line) for line in (1, 3, 4)] == [True, True, False]
    assert not ignores_in('url: "http://x/#stethoscope: ignore"\n').ignore(RULE, 1)


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# stethoscope: ignore[SET999]", "no rule, family or code begins with SET999"),
        ("# stethoscope: ignore[SET102", "the bracket is not closed"),
        ("# stethoscope: ignore[]", "no code between the brackets"),
        ("# stethoscope: ignroe[SET102]", "write `# stethoscope: ignore[CODE] reason`"),
    ],
)
def test_a_comment_that_says_nothing_is_a_problem(comment: str, said: str) -> None:
    ignores = python(f"a = 1  {comment}\n")
    assert not ignores.ignore(RULE, 1)
    ((line, problem),) = ignores.problems
    assert line == 1
    assert said in problem
