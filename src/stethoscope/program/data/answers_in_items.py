"""Samples whose target is a part of their input, or all of it.

return data[i : i + T], data[i : i + T]            a language model need only copy
return s[i : i + L], s[i + L - H : i + L]          what should be foretold is the end of what is given
xs.append(s[i : i + L]); ys.append(s[i + L - 1])   the same, one value at a time
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_below, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

TARGETS = frozenset({"y", "yb", "target", "targets", "label", "labels", "tgt", "ys", "future"})
# A program that copies on purpose, hides some of its input, or moves the target elsewhere.
_MEANT = re.compile(
    r"(?i)shift|:\s*-1\b|-1\s*:|\broll\(|vae|auto_?enc|latent|bottleneck|quanti[sz]|codebook|recon|corrupt"
    r"|mask_token|random_mask|mask_ratio|mlm|diffusion|denois|anomal|imput|from transformers|\[:, 1:\]"
)
_SPEAKS = re.compile(r"tril|triu|causal|subsequent|def generate|multinomial")


@dataclass(frozen=True, slots=True, eq=False)
class AnswerInItem:
    """The two cuts of a sequence; `is_all` says that they are the same."""

    source: Source
    given: ast.expr
    asked: ast.expr
    is_all: bool


def answers_in_items(index: Index) -> Iterator[AnswerInItem]:
    """The functions that make samples whose target the network is given."""
    sources = [source for source in index.program if not is_test(source)]
    text = "\n".join(source.text for source in sources)
    if _MEANT.search(text):
        return
    is_language = "Embedding(" in text and bool(_SPEAKS.search(text))
    for function in index.functions:
        if is_test(function.source):
            continue
        for given, asked in (*_pairs(function), *_collected(function)):
            first, second = _cut(given), _cut(asked) or _picked(asked)
            if first is None or second is None or ast.unparse(first.value) != ast.unparse(second.value):
                continue
            is_all = ast.unparse(given) == ast.unparse(asked)
            is_end = _is_end_of(first.slice, second.slice) or _is_inside(first.slice, second.slice)
            if (is_all and is_language) or is_end:
                yield AnswerInItem(function.source, given, asked, is_all)


def _pairs(function: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a function gives back as an input and its target."""
    for node in own_nodes(function.node, ast.Return):
        if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != 2:
            continue
        first, second = (_bare(one) for one in node.value.elts)
        if isinstance(first, ast.Name) and isinstance(second, ast.Name):
            made = _only(function, first.id), _only(function, second.id)
            if made[0] is not None and made[1] is not None and TARGETS & set(words(second.id)):
                yield made[0], made[1]
        elif function.name == "__getitem__":
            yield first, second


def _collected(function: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a loop puts into a list of inputs and a list of their targets."""
    for loop in own_nodes(function.node, ast.For):
        put: dict[str, list[ast.expr]] = {}
        for node in (one for statement in loop.body for one in own_below(statement)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]):
                    put.setdefault(name, []).append(value)
        asked = [name for name in put if TARGETS & set(words(name))]
        if len(put) == 2 and len(asked) == 1 and all(len(values) == 1 for values in put.values()):
            given = next(name for name in put if name != asked[0])
            yield put[given][0], put[asked[0]][0]


def _bare(node: ast.expr) -> ast.expr:
    """A value without its move to a device."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "cuda" | "long" | "float" | "clone")):
            return _bare(inner)
    return node


def _only(function: Function, name: str) -> ast.expr | None:
    found: list[ast.expr] = []
    for node in own_nodes(function.node, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            elif isinstance(target, ast.Tuple):
                pairs = [(one, node.value) for one in target.elts] * 2  # of what cannot be told apart
            found += [value for one, value in pairs if isinstance(one, ast.Name) and one.id == name]
    return found[0] if len(found) == 1 else None


def _cut(node: ast.expr) -> ast.Subscript | None:
    """The one window that an expression reads."""
    cuts = [one for one in all_nodes(node, ast.Subscript) if isinstance(one.slice, ast.Slice)]
    return cuts[0] if len(cuts) == 1 else None


def _picked(node: ast.expr) -> ast.Subscript | None:
    """The one value, or the one row, that an expression picks out of a sequence."""
    is_row = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
    return node if isinstance(node, ast.Subscript) and is_row else None


def _is_inside(given: ast.expr, asked: ast.expr) -> bool:
    """Whether a place lies before the end of a window by a number that is written out."""
    place = asked.elts[0] if isinstance(asked, ast.Tuple) and asked.elts else asked
    if not isinstance(given, ast.Slice) or given.upper is None or isinstance(place, ast.Slice):
        return False
    left = _difference(given.upper, place)
    begins = _difference(place, given.lower) if given.lower is not None else None
    return left is not None and left >= 1 and (begins is None or begins >= 0)


def _difference(first: ast.expr, second: ast.expr) -> int | None:
    """By how much one place lies behind another, where their names cancel out: `i + n` and `i + n - 1`."""
    terms = _summed(first, 1) + _summed(second, -1)
    by_name: dict[str, int] = {}
    total = 0
    for sign, term in terms:
        if isinstance(term, ast.Constant) and isinstance(term.value, int):
            total += sign * term.value
        else:
            by_name[ast.unparse(term)] = by_name.get(ast.unparse(term), 0) + sign
    return None if any(by_name.values()) else total


def _summed(node: ast.expr, sign: int) -> list[tuple[int, ast.expr]]:
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _summed(left, sign) + _summed(right, sign)
        case ast.BinOp(op=ast.Sub(), left=left, right=right):
            return _summed(left, sign) + _summed(right, -sign)
    return [(sign, node)]


def _is_end_of(given: ast.expr, asked: ast.expr) -> bool:
    """Whether two windows end together and the second begins later by a number that is taken off."""
    match given, asked:
        case ast.Slice(lower=first, upper=end), ast.Slice(lower=second, upper=other_end):
            if end is None or other_end is None or second is None or first is None:
                return False
            begins = ast.unparse(second)
            is_later = begins != ast.unparse(first) and begins.startswith(f"{ast.unparse(end)} - ")
            return ast.unparse(end) == ast.unparse(other_end) and is_later
    return False
