"""What differs in the source of two runs, function by function; comments and form do not count."""

from __future__ import annotations

import ast
import copy
import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.compare.comparison import CodeDifference, CodeDifferences
from stethoscope.run import Program, Run, Source, Where

MOST_DIFF_LINES = 24
AROUND = 1  # unchanged lines shown beside a change

# By their names these are about watching a training, not about what is learned.
_MEASURES = re.compile(
    r"(?:^|[_.])(?:val|valid|validate|validation|eval|evaluate|evaluation|test|metric|metrics|log|logs|logger|logging|print"
    r"|plot|draw|save|saves|write|report|visuali[sz]e|summary|progress|psnr|ssim|fid)(?:$|[_.\d])",
    re.IGNORECASE,
)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_differences(good: Run, bad: Run) -> CodeDifferences:
    """The functions and module bodies that differ between the sources of two runs."""
    left, right = good.program, bad.program
    if left is None or right is None:
        return CodeDifferences(unknown=_unknown(left, right))
    note = _note(left, right)
    mine, theirs = _by_place(left), _by_place(right)
    changed: list[CodeDifference] = []
    reformatted = 0
    for place in sorted({*mine, *theirs}):
        one, other = mine.get(place), theirs.get(place)
        if one is not None and other is not None and one.text == other.text:
            continue
        found = list(_in_file(place, one, other))
        reformatted += not found
        changed += found
    return CodeDifferences(tuple(changed), len({*mine, *theirs}), reformatted, note=note)


def _unknown(left: Program | None, right: Program | None) -> str:
    if left is None and right is None:
        return "the source of neither run was found"
    return f"the source of the {'good' if left is None else 'bad'} run was not found"


def _note(left: Program, right: Program) -> str:
    """What a reader must know: one copy of the source may stand for two states of it."""
    if os.path.realpath(left.root) == os.path.realpath(right.root):
        return (
            f"both runs have the same source, {left.root}, as it stands; keep a copy with each run to be sure"
        )
    changed = [side for side, one in (("good", left), ("bad", right)) if one.changed_after_start]
    return f"the source of the {' and the '.join(changed)} run changed after it began" if changed else ""


def _by_place(program: Program) -> dict[str, Source]:
    """The sources by their modules: two copies of one project have the same, wherever they lie."""
    return {source.module or os.path.basename(source.file): source for source in program}


def _in_file(place: str, one: Source | None, other: Source | None) -> Iterator[CodeDifference]:
    mine, theirs = _bodies(one), _bodies(other)
    for name in dict.fromkeys([*mine, *theirs]):
        left, right = mine.get(name), theirs.get(name)
        if left is not None and right is not None and left.dump == right.dump:
            continue
        shown = left or right
        if shown is None or not shown.written:
            continue
        whole = f"{place}.{name}" if name else f"{place} (module level)"
        what = "changed" if left and right else "only in good" if left else "only in bad"
        yield CodeDifference(
            whole,
            what,
            left.where if left else None,
            right.where if right else None,
            _diff(left, right),
            bool(_MEASURES.search(name)) if name else bool(_MEASURES.search(place)),
        )


@dataclass(frozen=True, slots=True)
class _Body:
    """A function, a class without its methods or a module without both: its tree as text, and as code."""

    dump: str
    written: str
    where: Where


def _bodies(source: Source | None) -> dict[str, _Body]:
    """The bodies of a file by their names; that of the module is called ""."""
    if source is None:
        return {}
    try:
        # As it is written: the tree that facts are read from has one spelling for each thing.
        return dict(_walk(source, ast.parse(source.text), ""))
    except RecursionError:  # an expression thousands deep
        return {"": _Body(source.text, source.text, Where(source.file, line=1))}


def _walk(source: Source, node: ast.Module | _Definition, name: str) -> Iterator[tuple[str, _Body]]:
    own = _without_definitions(node)
    yield name, _Body(ast.dump(own), ast.unparse(own), _first(source, node))
    for child in node.body:
        if isinstance(child, _Definition):
            inner = f"{name}.{child.name}" if name else child.name
            if isinstance(child, ast.ClassDef):
                yield from _walk(source, child, inner)
            else:
                bare = _without_docstring(child)
                yield inner, _Body(ast.dump(bare), ast.unparse(bare), source.where(child))


def _first(source: Source, node: ast.Module | _Definition) -> Where:
    return Where(source.file, line=1) if isinstance(node, ast.Module) else source.where(node)


def _without_definitions(node: ast.Module | _Definition) -> ast.AST:
    """A class or module without what stands for itself in it, and without words."""
    body = [one for one in _unspoken(node.body) if not isinstance(one, _Definition)]
    bare = copy.copy(node)
    bare.body = body
    return bare


def _without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    bare = copy.copy(node)
    bare.body = _unspoken(node.body) or [ast.Pass()]
    return bare


def _unspoken(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        one
        for one in body
        if not (
            isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Constant)
            and isinstance(one.value.value, str)
        )
    ]


def _diff(left: _Body | None, right: _Body | None) -> str:
    if left is None or right is None:
        return ""
    lines = difflib.unified_diff(left.written.splitlines(), right.written.splitlines(), lineterm="", n=AROUND)
    shown = list(lines)[2:]
    if len(shown) > MOST_DIFF_LINES:
        shown = [*shown[:MOST_DIFF_LINES], f"... {len(shown) - MOST_DIFF_LINES:,} more lines"]
    return "\n".join(shown)
