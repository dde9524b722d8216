"""Comments that say a finding is known: `# stethoscope: ignore[LOP101, PRC102] why it is fine here`.

On the line of the finding, on the first or last line of a statement that spans several, or alone on the
line above. Without codes everything is ignored there. `# stethoscope: ignore-file[LOP101]` speaks for the
whole file. The same comments work wherever `#` begins one: YAML, TOML, shell. Lines that a shell joins by a
backslash are one statement, and have no room for a comment but above the first or behind the last.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stethoscope.errors import UnknownRule
from stethoscope.findings import RuleEntry
from stethoscope.lint.selection import ALL, fit, must_be_known

MARK = "stethoscope:"
_DIRECTIVE = re.compile(
    r"#\s*stethoscope:\s*(?P<word>[\w-]*)\s*(?P<list>\[(?P<codes>[^\]\n]*)(?P<closed>\])?)?", re.IGNORECASE
)
_COMMENT = re.compile(r"(?:^|\s)#.*$")


@dataclass(frozen=True, slots=True)
class Ignores:
    """What the comments of one file ignore: selectors by line, and for the whole file.

    `alone` are the lines that hold nothing but a comment, and so speak for the line below. `spans` are the
    first and last lines of statements that take several.
    """

    file_wide: tuple[str, ...] = ()
    by_line: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    alone: frozenset[int] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()
    problems: tuple[tuple[int, str], ...] = ()

    def ignore(self, rule: RuleEntry, line: int | None) -> bool:
        """Whether a finding of this rule at this line is known."""
        if fit(rule, self.file_wide) >= 0:
            return True
        return line is not None and any(
            fit(rule, self.by_line.get(near, ())) >= 0 for near in self._near(line)
        )

    def _near(self, line: int) -> Iterator[int]:
        lines = {line}
        for first, last in self.spans:
            if first <= line <= last:
                lines |= {first, last}
        yield from lines
        for one in lines:
            above = one - 1
            while above in self.alone:  # a comment may have several lines
                yield above
                above -= 1


def ignores_in(text: str, tree: ast.Module | None = None) -> Ignores:
    """What a file's comments ignore; `tree` is its syntax tree where it is Python."""
    if MARK not in text.lower():
        return Ignores()
    file_wide: list[str] = []
    by_line: dict[int, tuple[str, ...]] = {}
    problems: list[tuple[int, str]] = []
    for line, comment in _comments(text, tree):
        found = _DIRECTIVE.search(comment)
        if found is None:
            continue
        selectors, problem = _selectors(found)
        if problem:
            problems.append((line, problem))
        elif found["word"].lower() == "ignore":
            by_line[line] = (*by_line.get(line, ()), *selectors)
        else:
            file_wide.extend(selectors)
    spans = tuple(_spans(tree) if tree is not None else _joined_lines(text)) if by_line else ()
    return Ignores(tuple(file_wide), by_line, _alone(text), spans, tuple(problems))


def _selectors(found: re.Match[str]) -> tuple[Sequence[str], str]:
    """The selectors of one comment, or what is wrong with it."""
    if found["word"].lower() not in {"ignore", "ignore-file"}:
        return (), f"{found[0].strip()}: write `# stethoscope: ignore[CODE] reason` or `ignore-file[CODE]`"
    if found["list"] is None:
        return (ALL,), ""
    if not found["closed"]:
        return (), f"{found[0].strip()}: the bracket is not closed"
    selectors = [code.strip() for code in found["codes"].split(",") if code.strip()]
    if not selectors:
        return (), f"{found[0].strip()}: no code between the brackets"
    try:
        must_be_known(selectors, found[0].strip())
    except UnknownRule as problem:
        return (), str(problem)
    return selectors, ""


def _comments(text: str, tree: ast.Module | None) -> Iterator[tuple[int, str]]:
    """Every comment with its line. In Python what looks like one may stand in a string."""
    if tree is None:
        for number, line in enumerate(text.split("\n"), 1):
            found = _COMMENT.search(line) if MARK in line.lower() else None
            if found is not None:
                yield number, found[0]
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return  # what the parser took and the tokenizer does not: the comments so far count


def _alone(text: str) -> frozenset[int]:
    return frozenset(
        number for number, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith("#")
    )


def _spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of every statement that takes several; of one with a body, those before the body."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
        if last > node.lineno:
            yield node.lineno, last


def _joined_lines(text: str) -> Iterator[tuple[int, int]]:
    """The first and last of the lines that backslashes join."""
    first: int | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.rstrip("\r").endswith("\\"):
            first = number if first is None else first
        elif first is not None:
            yield first, number
            first = None
