"""The words of a shell script as they are written, before anything is expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.recipe._text import MAX_DEPTH
from stethoscope.recipe._tree import TooMuch

_SPACE = re.compile(r"(?:[ \t\r]|\\\n)+")
_OPERATOR = re.compile(r"\n|;;&?|;&?|&&|\|\||\|&?|&(?!>)|\(|\)")
_REDIRECTION = re.compile(r"\d*(?:<<<|<<-?|>>|<>|>\||[<>]&\d*-?|[<>])|&>>?")
_HERE = re.compile(r"[ \t]*(['\"]?)([\w.-]+)\1")
_ASSIGNS = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<append>\+?)=")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!-]")
_BRACED = re.compile(r"(?P<name>[A-Za-z_]\w*|\d+|[@*#?])(?P<array>\[[@*]\])?(?P<op>:?[-=+?]|\})?")
_PLAIN = re.compile(r"[^\s\\'\"$`;&|<>()#]+")
_IN_QUOTES = re.compile(r"[^\\\"$`]+")
_ENDS_ARGUMENT = re.compile(r"[^\\'\"$`}]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a word. `kind` is "text", "variable", "array", "arithmetic" or "opaque".

    `text` is the stretch itself, or the variable's name; `default` is what stands behind `:-` and its likes,
    of which `op` is the sign. A quoted stretch is not split into words.
    """

    kind: str
    text: str
    start: int
    quoted: bool = False
    op: str = ""
    default: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its parts, where it begins, and for an assignment the variable and what an array holds.

    An operator such as `;` is a word without parts.
    """

    parts: tuple[Part, ...]
    start: int
    operator: str = ""
    name: str = ""
    append: bool = False
    array: tuple[Word, ...] | None = None


def words(text: str) -> Iterator[Word]:
    """The words and operators of a script; comments and here-documents are left out."""
    at, heres = 0, []
    while at < len(text):
        at = _after(_SPACE, text, at)
        if at >= len(text):
            return
        if text[at] == "#":
            at = _line_end(text, at)
        elif (found := _REDIRECTION.match(text, at)) is not None:
            at = found.end()
            if found[0].lstrip("0123456789") in {"<<", "<<-"} and (here := _HERE.match(text, at)):
                heres.append(here[2])
                at = here.end()
            else:
                yield Word((), found.start(), operator=">")
        elif (found := _OPERATOR.match(text, at)) is not None:
            yield Word((), at, operator=found[0])
            at = found.end()
            if found[0] == "\n" and heres:
                at, heres = _after_heres(text, at, heres), []
        else:
            word, at = _word(text, at)
            yield word


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _after_heres(text: str, at: int, markers: list[str]) -> int:
    for marker in markers:
        while at < len(text):
            end = _line_end(text, at)
            line, at = text[at:end].strip(), min(end + 1, len(text))
            if line == marker:
                break
    return at


def _word(text: str, at: int) -> tuple[Word, int]:
    start = at
    assigns = _ASSIGNS.match(text, at)
    if assigns is None:
        parts, at = _parts(text, at)
        return Word(parts, start), at
    append = bool(assigns["append"])
    at = assigns.end()
    if text[at : at + 1] == "(":
        inner, at = _array(text, at + 1)
        return Word((), start, "", assigns["name"], append, inner), at
    parts, at = _parts(text, at)
    return Word(parts, start, "", assigns["name"], append), at


def _array(text: str, at: int) -> tuple[tuple[Word, ...], int]:
    """The words of `NAME=( ... )`, and the offset behind the bracket."""
    found: list[Word] = []
    while at < len(text):
        at = _after(_SPACE, text, at)
        one = text[at : at + 1]
        if one == ")":
            return tuple(found), at + 1
        if one == "#":
            at = _line_end(text, at)
        elif one in ("", "\n", ";", "&", "|", "<", ">", "("):
            at += 1
        else:
            start = at
            parts, at = _parts(text, at)
            found.append(Word(parts, start))
    return tuple(found), at


def _parts(text: str, at: int) -> tuple[tuple[Part, ...], int]:
    """The parts of a word up to white space or an operator."""
    found: list[Part] = []
    begin = at
    while at < len(text):
        one = text[at]
        if one in " \t\r\n;&|<>()" or (one == "#" and at == begin):
            break
        part, at = _part(text, at, _PLAIN, 0)
        found.extend(part)
    return tuple(found), at if at > begin else at + 1


def _part(text: str, at: int, plain: re.Pattern[str], depth: int) -> tuple[list[Part], int]:
    """One part that begins at an offset, and the offset behind it."""
    if depth > MAX_DEPTH:
        raise TooMuch
    one = text[at]
    if one == "'":
        end = text.find("'", at + 1)
        end = len(text) if end < 0 else end
        return [Part("text", text[at + 1 : end], at + 1, True)], end + 1
    if one == '"':
        return _quoted(text, at + 1, depth + 1)
    if one == "\\":
        if text[at + 1 : at + 2] == "\n":
            return [], at + 2
        return [Part("text", text[at + 1 : at + 2], at + 1, True)], at + 2
    if one in "$`":
        part, at = _dollar(text, at, False, depth + 1)
        return [part], at
    found = plain.match(text, at)
    end = found.end() if found else at + 1
    return [Part("text", text[at:end], at)], end


def _quoted(text: str, at: int, depth: int) -> tuple[list[Part], int]:
    """What stands between double quotes."""
    found: list[Part] = [Part("text", "", at, True)]
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and text[at + 1 : at + 2] in ("\n", '"', "\\", "$", "`"):
            if text[at + 1] != "\n":
                found.append(Part("text", text[at + 1], at + 1, True))
            at += 2
        elif text[at] in "$`":
            part, at = _dollar(text, at, True, depth)
            found.append(part)
        else:
            plain = _IN_QUOTES.match(text, at)
            end = plain.end() if plain else at + 1
            found.append(Part("text", text[at:end], at, True))
            at = end
    return found, at + 1


def _dollar(text: str, at: int, quoted: bool, depth: int) -> tuple[Part, int]:
    """A variable, or something that only a shell could tell."""
    if depth > MAX_DEPTH:
        raise TooMuch
    if text[at] == "`":
        end = text.find("`", at + 1)
        end = len(text) if end < 0 else end + 1
        return Part("opaque", text[at:end], at, quoted), end
    if text.startswith("$((", at):
        end = text.find("))", at)
        end = len(text) if end < 0 else end + 2
        return Part("arithmetic", text[at + 3 : end - 2], at, quoted), end
    if text.startswith("$(", at):
        end = _closing(text, at + 2)
        return Part("opaque", text[at:end], at, quoted), end
    if text.startswith("${", at):
        return _braced(text, at, quoted, depth)
    if text.startswith("$'", at):
        end = text.find("'", at + 2)
        end = len(text) if end < 0 else end + 1
        return Part("text", text[at + 2 : end - 1], at + 2, True), end
    found = _NAME.match(text, at + 1)
    if found is None:
        return Part("text", "$", at, quoted), at + 1
    kind = "opaque" if not (found[0][0].isalpha() or found[0][0] == "_") else "variable"
    return Part(kind, found[0] if kind == "variable" else text[at : found.end()], at, quoted), found.end()


def _closing(text: str, at: int) -> int:
    """The offset behind the bracket that ends `$( ... )`."""
    depth = 1
    for found in re.compile(r"'[^']*'|\\.|[()]", re.DOTALL).finditer(text, at):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def _braced(text: str, at: int, quoted: bool, depth: int) -> tuple[Part, int]:
    """`${NAME}`, `${NAME:-default}`, `${NAME[@]}`."""
    found = _BRACED.match(text, at + 2)
    if found is None or not (found["op"] or text[found.end() : found.end() + 1] == "}"):
        end = text.find("}", at)
        end = len(text) if end < 0 else end + 1
        return Part("opaque", text[at:end], at, quoted), end
    kind = "array" if found["array"] else "variable"
    if found["op"] in (None, "}"):
        end = found.end() + (0 if found["op"] else 1)
        return Part(kind, found["name"], at, quoted), end
    default: list[Part] = []
    at_default = found.end()
    while at_default < len(text) and text[at_default] != "}":
        parts, at_default = _part(text, at_default, _ENDS_ARGUMENT, depth + 1)
        default.extend(parts)
    op = found["op"].removeprefix(":")
    return Part(kind, found["name"], at, quoted, op, tuple(default)), at_default + 1
