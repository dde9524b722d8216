"""The commands of a shell script with their variables filled in, as far as its text tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from stethoscope.recipe._shell.words import Part, Word, words
from stethoscope.recipe._text import MAX_DEPTH
from stethoscope.recipe._tree import TooMuch

LONGEST = 50_000  # characters that one word expands to; variables that double each other end here
MOST_COMMANDS = 5_000

_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
_OPENS = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSES = frozenset({"fi", "done", "esac"})
_TURNS = frozenset({"else", "elif", "then", "do"})
_ARITHMETIC = re.compile(r"[\d\s+*/%()-]+")
_CHANGES = re.compile(r"^(?:read|shift|set|source|\.|eval|getopts)$")


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of an expanded word, and the offset they were written at; None where they were computed.

    `via` are the offsets of the variables they came through. `known` is false for what only a shell knows.
    """

    text: str
    start: int | None
    quoted: bool = False
    known: bool = True
    via: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """A word after expansion: its pieces, and the offset of the word that it was expanded from."""

    pieces: tuple[Piece, ...]
    at: int

    @property
    def text(self) -> str:
        """The word's characters."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def known(self) -> bool:
        """Whether all of it can be told from the script."""
        return all(piece.known for piece in self.pieces)

    def cut(self, start: int) -> Argument:
        """The word without its first characters."""
        kept: list[Piece] = []
        for piece in self.pieces:
            if start >= len(piece.text) and (start or not piece.text):
                start -= len(piece.text)
                continue
            begin = piece.start + start if piece.start is not None else None
            kept.append(replace(piece, text=piece.text[start:], start=begin))
            start = 0
        return Argument(tuple(kept), self.at)

    @property
    def span(self) -> tuple[int, int] | None:
        """Where the word's characters stand, where they stand together."""
        pieces = [piece for piece in self.pieces if piece.text]
        if not pieces or pieces[0].start is None:
            return None
        at = start = pieces[0].start
        for piece in pieces:
            if piece.start != at or not piece.known:
                return None
            at += len(piece.text)
        return start, at


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, the variables set for it alone or exported before, and where it begins.

    `outputs` are the files that it writes to; `piped` says that it reads from the command before it.
    """

    arguments: tuple[Argument, ...]
    exported: dict[str, Argument]
    start: int
    outputs: tuple[str, ...] = ()
    piped: bool = False


@dataclass(slots=True)
class _Variables:
    values: dict[str, tuple[Argument, ...]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def copy(self) -> _Variables:
        return _Variables(dict(self.values), set(self.exported))


@dataclass(slots=True)
class _Branch:
    """An open `if` or loop: the variables before it, and those that a part of it already left changed."""

    before: _Variables
    changed: set[str] = field(default_factory=set)


def commands(text: str) -> Iterator[Command]:
    """Every simple command of a script in the order written, whichever branch it stands in."""
    variables = _Variables()
    around: list[_Branch] = []
    piped = False
    for count, (simple, end) in enumerate(_simple(text)):
        if count > MOST_COMMANDS:
            raise TooMuch
        command = _control(simple, variables, around)
        if command:
            made = _execute(command, variables, piped)
            if made is not None:
                yield made
        piped = end.startswith("|") and end != "||"


def _simple(text: str) -> Iterator[tuple[list[Word], str]]:
    """The words of each simple command, and the operator that ends it."""
    current: list[Word] = []
    for word in words(text):
        if word.operator and word.operator != ">":
            if current:
                yield current, word.operator
            current = []
        else:
            current.append(word)
    if current:
        yield current, ""


def _spoken(word: Word) -> str:
    if word.name or word.operator or len(word.parts) != 1 or word.parts[0].kind != "text":
        return ""
    return "" if word.parts[0].quoted else word.parts[0].text


def _control(simple: list[Word], variables: _Variables, around: list[_Branch]) -> list[Word]:
    """What is left of a command once its control words were heeded."""
    for at, first in enumerate(simple):
        word = _spoken(first)
        if word in _OPENS:
            around.append(_Branch(variables.copy()))
            if len(around) > MAX_DEPTH:
                raise TooMuch
            if word in {"for", "select"}:
                _loop(simple[at:], variables)
                return []
            if word == "case":
                return []
        elif word in _CLOSES:
            if around:
                _leave(variables, around.pop())
            return []
        elif word in {"else", "elif"} and around:
            around[-1].changed |= _changed(variables, around[-1].before)
            variables.values = dict(around[-1].before.values)
        elif word not in _TURNS | {"{", "}", "!", "time"}:
            return simple[at:]
    return []


def _loop(simple: list[Word], variables: _Variables) -> None:
    """`for lr in 1e-3 1e-4`: what takes several values in turn has no one value."""
    name = _spoken(simple[1]) if len(simple) > 1 else ""
    given = [one for word in simple[3:] for one in _expanded(word, variables)]
    if name:
        value = given[0] if len(given) == 1 else _untold(f"${name}", simple[0].start)
        variables.values[name] = (value,)


def _changed(variables: _Variables, before: _Variables) -> set[str]:
    names = {*variables.values, *before.values}
    return {name for name in names if variables.values.get(name) != before.values.get(name)}


def _leave(variables: _Variables, branch: _Branch) -> None:
    """After a branch, what it may have changed is no longer known."""
    for name in _changed(variables, branch.before) | branch.changed:
        earlier = branch.before.values.get(name) or variables.values.get(name)
        at = earlier[0].at if earlier else 0
        variables.values[name] = (_untold(f"${{{name}}}", at),)


def _untold(text: str, at: int) -> Argument:
    return Argument((Piece(text, None, True, False),), at)


def _execute(simple: list[Word], variables: _Variables, piped: bool) -> Command | None:
    """Heed assignments; give the command that is left, if one is."""
    own = variables.copy()
    declaring = _spoken(simple[0]) in _DECLARES
    exporting = declaring and _spoken(simple[0]) == "export"
    assigned: list[Word] = []
    rest: list[Word] = []
    for word in simple[1:] if declaring else simple:
        if word.name and (declaring or not rest):
            assigned.append(word)
        else:
            rest.append(word)
    target = variables if declaring or not rest else own
    for word in assigned:
        _assign(word, target)
        if exporting or target is own:
            target.exported.add(word.name)
    if declaring or not rest:
        if exporting:
            variables.exported.update(_spoken(word) for word in rest)
        return None
    arguments, outputs = _arguments(rest, own)
    if arguments and _CHANGES.match(arguments[0].text):
        _note_change(arguments, variables)
    exported = {
        name: own.values[name][0]
        for name in sorted(own.exported)
        if name in own.values and len(own.values[name]) == 1
    }
    return Command(tuple(arguments), exported, simple[0].start, tuple(outputs), piped) if arguments else None


def _note_change(arguments: list[Argument], variables: _Variables) -> None:
    """`read NAME` gives a variable a value that the script does not hold."""
    if arguments[0].text == "read":
        for argument in arguments[1:]:
            variables.values[argument.text] = (_untold(f"${argument.text}", argument.at),)


def _arguments(simple: list[Word], variables: _Variables) -> tuple[list[Argument], list[str]]:
    found: list[Argument] = []
    outputs: list[str] = []
    redirected = False
    for word in simple:
        if word.operator == ">":
            redirected = True
            continue
        # Behind the first word, NAME=value is an argument like any other.
        expanded = _as_argument(word, variables) if word.name else _expanded(word, variables)
        if redirected:
            outputs.extend(one.text for one in expanded)
            redirected = False
        else:
            found.extend(expanded)
    return found, outputs


def _as_argument(word: Word, variables: _Variables) -> list[Argument]:
    sign = "+=" if word.append else "="
    lead = Part("text", f"{word.name}{sign}", word.start)
    return _expanded(replace(word, parts=(lead, *word.parts), name="", array=None), variables)


def _assign(word: Word, variables: _Variables) -> None:
    if word.array is not None:
        value = tuple(one for inner in word.array for one in _expanded(inner, variables))
    else:
        quoted = tuple(replace(part, quoted=True) for part in word.parts)
        pieces = _pieces(quoted, variables)
        value = (Argument(tuple(pieces), word.start),)
    if word.append:
        earlier = variables.values.get(word.name, ())
        if word.array is None and earlier:
            value = (Argument((*earlier[0].pieces, *value[0].pieces), word.start),)
        else:
            value = (*earlier, *value)
    variables.values[word.name] = value


def _expanded(word: Word, variables: _Variables) -> list[Argument]:
    """A word as the words it becomes: variables filled in, those unquoted split at white space."""
    groups: list[list[Piece]] = [[]]
    length = 0
    for part in word.parts:
        if part.kind == "array" and part.text in variables.values and not part.op:
            elements = variables.values[part.text]
            length += sum(len(element.text) + 1 for element in elements)
            for index, element in enumerate(elements):
                if index:
                    groups.append([])
                groups[-1].extend(_through(element.pieces, part.start, True))
        else:
            pieces = _pieces((part,), variables)
            length += sum(len(piece.text) for piece in pieces)
            _extend(groups, pieces, from_variable=part.kind != "text")
        if length > LONGEST:
            raise TooMuch
    return [Argument(tuple(group), word.start) for group in groups if group]


def _extend(groups: list[list[Piece]], pieces: Iterable[Piece], from_variable: bool) -> None:
    for piece in pieces:
        if piece.quoted or not from_variable or not piece.known:
            groups[-1].append(piece)
            continue
        for found in re.finditer(r"\s+|\S+", piece.text):
            if not found[0].strip():
                if groups[-1]:
                    groups.append([])
                continue
            start = piece.start + found.start() if piece.start is not None else None
            groups[-1].append(replace(piece, text=found[0], start=start))


def _pieces(parts: Iterable[Part], variables: _Variables) -> list[Piece]:
    found: list[Piece] = []
    length = 0
    for part in parts:
        before = len(found)
        match part.kind:
            case "text":
                found.append(Piece(part.text, part.start, part.quoted))
            case "variable" | "array":
                found.extend(_variable(part, variables))
            case "arithmetic":
                found.append(_computed(part, variables))
            case _:
                found.append(Piece(part.text, None, True, False))
        length += sum(len(piece.text) + 1 for piece in found[before:])
        if length > LONGEST:
            raise TooMuch
    return found


def _variable(part: Part, variables: _Variables) -> list[Piece]:
    value = variables.values.get(part.text)
    is_set = value is not None and any(argument.text for argument in value)
    if part.op in {"-", "="} and not is_set:
        given = _through(tuple(_pieces(part.default, variables)), part.start, part.quoted)
        if part.op == "=":
            variables.values[part.text] = (Argument(tuple(given), part.start),)
        return given
    if part.op == "+":
        return _pieces(part.default, variables) if is_set else []
    if value is None:
        return [Piece(f"${{{part.text}}}", None, True, False)]
    return _through(value[0].pieces, part.start, part.quoted) if value else []


def _through(pieces: Iterable[Piece], use: int, quoted: bool) -> list[Piece]:
    """Pieces seen through a variable: an unquoted use splits what was quoted where it was given."""
    return [replace(piece, quoted=quoted, via=(*piece.via, use)) for piece in pieces]


def _computed(part: Part, variables: _Variables) -> Piece:
    """`$((GPUS * 8))` of variables that hold whole numbers."""

    via = [part.start]

    def filled(found: re.Match[str]) -> str:
        value = variables.values.get(found[1])
        if not value or not value[0].known:
            return found[0]
        via.extend(piece.start for piece in value[0].pieces if piece.start is not None)
        return value[0].text

    text = re.sub(r"\$?\{?([A-Za-z_]\w*)\}?", filled, part.text)
    number = _whole_number(text) if _ARITHMETIC.fullmatch(text) and len(text) < 100 else None
    if number is None or "**" in text:
        return Piece(f"$(({part.text}))", None, True, False)
    return Piece(str(number), None, part.quoted, True, tuple(via))


def _whole_number(text: str) -> int | None:
    try:
        tree = ast.parse(text.strip().replace("//", "/"), mode="eval").body
        return _integer(tree)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None


def _integer(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_integer(operand)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _integer(left), _integer(right)
            match op:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.Div():  # as a shell divides: towards zero
                    return int(first / second)
                case ast.Mod():
                    return first % second
    raise ValueError
