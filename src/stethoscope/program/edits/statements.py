"""Whole statements of a file: which block holds them, and the splices that take, put or move one."""

from __future__ import annotations

import ast

from stethoscope.program.spelling.assignments import PIECE
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.values import lines_of
from stethoscope.run import Source, Splice

Block = list[ast.stmt]

# Statements without a block of their own: only these can share a line.
_SIMPLE = (
    ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Pass, ast.Break,
    ast.Continue, ast.Delete, ast.Assert, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal,
)  # fmt: skip


def blocks_around(source: Source, node: ast.AST) -> list[tuple[Block, int]]:
    """The blocks that hold a node and the position of its statement in each, innermost first."""
    found: list[tuple[Block, int]] = []
    waiting: list[Block] = [source.tree.body]
    while waiting:
        block = waiting.pop()
        position = holding(block, node)
        if position is not None:
            found.append((block, position))
            waiting = _inner_blocks(block[position])
    return found[::-1]


def holding(block: Block, node: ast.AST) -> int | None:
    """The position of the statement of a block that a node is in."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    for position, statement in enumerate(block):
        begin = (_first_line(statement), statement.col_offset)
        end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
        if begin <= (line, column) < end:
            return position
    return None


def cut(source: Source, block: Block, position: int) -> Splice | None:
    """The statement's lines taken out; None where others share its lines or nothing would be left."""
    statement = block[position]
    if len(block) == 1 or not _is_alone(source, statement):
        return None
    _, starts = lines_of(source)
    end = min(starts[statement.end_lineno or statement.lineno], len(source.text))
    return Splice(source.file, starts[_first_line(statement) - 1], end, "")


def put_before(source: Source, statement: ast.stmt, text: str) -> Splice:
    """A statement before another one: on lines of its own, or on the same line where others share it."""
    _, starts = lines_of(source)
    if is_inline(source, statement):
        start = _offset(source, statement.lineno, statement.col_offset)
        return Splice(source.file, start, start, f"{text}; ")
    start = starts[_first_line(statement) - 1]
    return Splice(source.file, start, start, indented(text, indent_of(source, statement)))


def put_after(source: Source, statement: ast.stmt, text: str) -> Splice:
    """A statement after another one: on lines of its own, or on the same line where others share it."""
    _, starts = lines_of(source)
    last = statement.end_lineno or statement.lineno
    if is_inline(source, statement):
        end = _offset(source, last, statement.end_col_offset or 0)
        return Splice(source.file, end, end, f"; {text}")
    lines = indented(text, indent_of(source, statement))
    if starts[last] > len(source.text):  # the file ends without a line break
        return Splice(source.file, len(source.text), len(source.text), f"\n{lines[:-1]}")
    return Splice(source.file, starts[last], starts[last], lines)


def put_first(source: Source, block: Block, text: str) -> Splice:
    """A statement at the top of a block, above the comments on the first one."""
    lines, starts = lines_of(source)
    first = _first_line(block[0]) - 1
    if is_inline(source, block[0]):
        return put_before(source, block[0], text)
    indent = indent_of(source, block[0])
    while first > 0 and lines[first - 1].startswith(f"{indent}#"):
        first -= 1
    return Splice(source.file, starts[first], starts[first], indented(text, indent))


def name_of_result(source: Source, node: ast.AST) -> str:
    """The name or attribute that the result of a call is kept under, "" where more is made of it."""
    around = blocks_around(source, node)
    statement = around[0][0][around[0][1]] if around else None
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not node:
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return ast.unparse(targets[0]) if len(targets) == 1 and is_name_chain(targets[0]) else ""


def is_known_at(source: Source, made: ast.AST, later: ast.AST) -> bool:
    """Whether what a statement makes is surely there at a later one: a block around the later holds both.

    What is made under a `with` is there behind it.
    """
    around = [block for block, _ in blocks_around(source, later)]
    for number, (block, position) in enumerate(blocks_around(source, made)):
        if number and not isinstance(block[position], ast.With | ast.AsyncWith):
            return False
        if any(block is other for other in around):
            break
    else:
        return False
    return _line(made) < _line(later) and _function_around(source, made) is _function_around(source, later)


def _function_around(source: Source, node: ast.AST) -> ast.stmt | None:
    for block, position in blocks_around(source, node):
        if (
            isinstance(block[position], ast.FunctionDef | ast.AsyncFunctionDef)
            and block[position] is not node
        ):
            return block[position]
    return None


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def is_constant(source: Source, name: str) -> bool:
    """Whether a name is given a value once, at the top of a file."""
    stored = [n for n in all_nodes(source.tree, ast.Name) if isinstance(n.ctx, ast.Store)]
    top = [s for s in source.tree.body if not isinstance(s, FunctionNode | ast.ClassDef)]
    inside = {id(node) for statement in top for node in all_nodes(statement)}
    return [id(node) in inside for node in stored if node.id == name] == [True]


def indented(text: str, indent: str) -> str:
    """Whole lines, each behind an indent; empty ones stay empty."""
    return "".join(f"{indent}{line}\n" if line else "\n" for line in text.split("\n"))


def is_inline(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement shares its line with others or with the header of its block: `if x: a(); b()`.

    What stands beside such a statement must be a simple one, without a block of its own.
    """
    return isinstance(statement, _SIMPLE) and not _is_alone(source, statement)


def indent_of(source: Source, statement: ast.stmt) -> str:
    """The blanks before a statement, as they are written."""
    lines, _ = lines_of(source)
    line = lines[_first_line(statement) - 1]
    return line[: len(line) - len(line.lstrip())]


def deeper(source: Source) -> str:
    """One more level of indent, as the file writes it."""
    for outer in all_nodes(source.tree):
        if not isinstance(outer, ast.FunctionDef | ast.ClassDef | ast.For | ast.If | ast.With | ast.While):
            continue
        within, around = indent_of(source, outer.body[0]), indent_of(source, outer)
        if outer.body[0].lineno > outer.lineno and within.startswith(around) and within != around:
            return within[len(around) :]
    return "    "


def moved(source: Source, node: ast.AST, beside: ast.AST, after: bool) -> tuple[Splice, ...]:
    """The statement of a node moved before or after the one that holds `beside`, where one block holds both.

    Nothing where the two share no block, or where the statement does more than call.
    """
    around = blocks_around(source, node)
    if not around:
        return ()
    block, position = around[0]
    target = holding(block, beside)
    statement = block[position]
    if target is None or target == position or not isinstance(statement, ast.Expr):
        return ()
    taken = cut(source, block, position)
    if taken is None or not _is_alone(source, block[target]):
        return ()
    text = (ast.get_source_segment(source.text, statement) or "").strip()
    put = put_after if after else put_before
    return (taken, put(source, block[target], text))


def is_name_chain(node: ast.AST) -> bool:
    """Whether an expression is a name or attributes of one, so that it can be written once more."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _inner_blocks(statement: ast.stmt) -> list[Block]:
    named = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    found = [block for block in named if isinstance(block, list) and block]
    found.extend(handler.body for handler in getattr(statement, "handlers", ()))
    found.extend(case.body for case in getattr(statement, "cases", ()))
    return found


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", ())
    lines: list[int] = [statement.lineno, *(decorator.lineno for decorator in decorators)]
    return min(lines)


def _is_alone(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with no other, and is no piece of one that gives several."""
    if hasattr(statement, PIECE):
        return False
    lines, _ = lines_of(source)
    before = lines[_first_line(statement) - 1].encode()[: statement.col_offset]
    after = lines[(statement.end_lineno or statement.lineno) - 1].encode()[statement.end_col_offset or 0 :]
    return not before.strip() and (not after.strip() or after.strip().startswith(b"#"))


def _offset(source: Source, line: int, column: int) -> int:
    """The place in the text of a line and a column in bytes."""
    lines, starts = lines_of(source)
    return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())


def without_header(source: Source, node: ast.With | ast.AsyncWith) -> Splice | None:
    """The body of a `with` in its place, one level further left; None where it stands behind its header."""
    if node.body[0].lineno <= node.lineno or not _is_alone(source, node):
        return None
    indent, within = indent_of(source, node), indent_of(source, node.body[0])
    lines, starts = lines_of(source)
    last = node.end_lineno or node.lineno
    if not within.startswith(indent) or _has_long_strings(node):
        return None
    header_end = next(
        number
        for number in range(node.lineno, last)
        if lines[number - 1].split("#")[0].rstrip().endswith(":")
    )
    body = [
        line.removeprefix(within[len(indent) :]) if line.strip() else line for line in lines[header_end:last]
    ]
    end = starts[last - 1] + len(lines[last - 1])
    return Splice(source.file, starts[node.lineno - 1], end, "\n".join(body))


def without_decorator(source: Source, mark: ast.expr) -> Splice | None:
    """The lines of a decorator taken out."""
    lines, starts = lines_of(source)
    last = mark.end_lineno or mark.lineno
    if not lines[mark.lineno - 1].lstrip().startswith("@"):
        return None
    return Splice(source.file, starts[mark.lineno - 1], starts[last], "")


def put_under(source: Source, statement: ast.stmt, header: str) -> Splice | None:
    """A statement as the only one of a new block: `if rank == 0:`; None where others share its lines."""
    if not _is_alone(source, statement) or _has_long_strings(statement):
        return None
    lines, starts = lines_of(source)
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    more = deeper(source)
    body = [f"{more}{line}" if line.strip() else line for line in lines[first - 1 : last]]
    text = "\n".join((f"{indent_of(source, statement)}{header}", *body))
    return Splice(source.file, starts[first - 1], starts[last - 1] + len(lines[last - 1]), text)


def moved_whole(source: Source, node: ast.AST, beside: ast.AST, after: bool) -> tuple[Splice, ...]:
    """A statement moved before or after another one of its block, where nothing between depends on the order.

    Nothing where what it makes is used between, or where what it uses is made there.
    """
    around = blocks_around(source, node)
    block, position = around[0] if around else ([], 0)
    target = holding(block, beside)
    if target is None or target == position or is_inline(source, block[target]):
        return ()
    first, last = sorted((position, target))
    others = [one for one in block[first : last + 1] if one is not block[position]]
    taken = cut(source, block, position)
    if taken is None or _depend(block[position], others[:-1] if after else others[1:]):
        return ()
    if after and _written(block[position]) & _read(block[target]):
        return ()
    text = source.text[taken.start : taken.end].rstrip("\n")
    _, starts = lines_of(source)
    at = starts[block[target].end_lineno or 0] if after else starts[_first_line(block[target]) - 1]
    if at > len(source.text):
        return (taken, Splice(source.file, len(source.text), len(source.text), f"\n{text}"))
    return (taken, Splice(source.file, at, at, f"{text}\n"))


def _depend(statement: ast.stmt, others: Block) -> bool:
    """Whether the order of a statement and others matters: one makes a name that the other uses."""
    made, used = _written(statement), _read(statement)
    return any(made & (_read(one) | _written(one)) or used & _written(one) for one in others)


def _written(node: ast.AST) -> set[str]:
    return {ast.unparse(one) for one in all_nodes(node) if isinstance(getattr(one, "ctx", None), ast.Store)}


def _read(node: ast.AST) -> set[str]:
    chains = (one for one in all_nodes(node) if isinstance(one, ast.Name | ast.Attribute))
    return {ast.unparse(one) for one in chains if isinstance(one.ctx, ast.Load)}


def _has_long_strings(node: ast.AST) -> bool:
    """Whether a string goes over several lines, whose blanks are part of it."""
    texts = (one for one in all_nodes(node) if isinstance(one, ast.Constant | ast.JoinedStr))
    return any(one.end_lineno != one.lineno for one in texts)
