"""Taking a statement or block out of a source file without leaving a trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.values import Site, lines_of
from stethoscope.run import Source, Splice

Block = list[ast.stmt]


def removal(site: Site, function: FunctionNode | None) -> tuple[Splice, ...]:
    """The cuts that take out the step at `site`, or none where that is not safe to do blindly.

    A whole `if` goes when it does nothing but this; otherwise a call that works in place, such as
    `image.thumbnail(...)`, or each statement of the form `x = step(x)`.
    """
    body = function.body if function is not None else site.source.tree.body
    cuts = tuple(_cuts(site, body))
    return cuts if _still_parses(site.source, cuts) else ()


def _cuts(site: Site, body: Block) -> Iterator[Splice]:
    conditional = _innermost(body, site.node, lambda s: isinstance(s, ast.If) and not s.orelse)
    if conditional is not None:
        block, position = conditional
        if _only_prepares(block[position]) and _is_unused_after(block, position):
            yield _cut(site.source, _without_empty_blocks(body, block, _with_preparation(block, position)))
        return
    in_place = _innermost(body, site.node, lambda s: isinstance(s, ast.Expr) and s.value is site.node)
    if in_place is not None:
        block, position = in_place
        if len(block) > 1:
            yield _cut(site.source, [block[position]])
        return
    statement = _innermost(body, site.node, _replaces_itself)
    if statement is not None:
        block, position = statement
        for other in block:
            if _replaces_itself(other) and _same_call(other, block[position]):
                yield _cut(site.source, [other])


def _without_empty_blocks(body: Block, block: Block, taken: list[ast.stmt]) -> list[ast.stmt]:
    """The statements to take, or the `if` around them where nothing else would be left in it."""
    while len(taken) == len(block) and block is not body:
        around = _innermost(
            body,
            block[0],
            lambda s, inner=block: isinstance(s, ast.If) and s.body is inner and not s.orelse,
        )
        if around is None:
            break
        block, position = around
        taken = [block[position]]
    return taken


def _still_parses(source: Source, cuts: tuple[Splice, ...]) -> bool:
    text = source.text
    for cut in sorted(cuts, key=lambda cut: -cut.start):
        text = text[: cut.start] + cut.text + text[cut.end :]
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _innermost(body: Block, node: ast.AST, wanted: object) -> tuple[Block, int] | None:
    """The block and position of the deepest wanted statement that holds a node."""
    line = getattr(node, "lineno", 0)
    for position, statement in enumerate(body):
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        for inner in _blocks(statement):
            found = _innermost(inner, node, wanted)
            if found is not None:
                return found
        if callable(wanted) and wanted(statement):
            return body, position
    return None


def _blocks(statement: ast.stmt) -> Iterator[Block]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _only_prepares(statement: ast.stmt) -> bool:
    """Whether a block only assigns: nothing is logged, returned or called for its effect."""
    return isinstance(statement, ast.If) and all(
        isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign) or _only_prepares(inner)
        for inner in (*statement.body, *statement.orelse)
    )


def _is_unused_after(block: Block, position: int) -> bool:
    """Whether the names that only the block defines are not needed behind it."""
    inside = block[position]
    made = {n.id for n in all_nodes(inside, ast.Name) if isinstance(n.ctx, ast.Store)}
    before = {n.id for s in block[:position] for n in all_nodes(s, ast.Name) if isinstance(n.ctx, ast.Store)}
    read_inside = {n.id for n in all_nodes(inside, ast.Name) if isinstance(n.ctx, ast.Load)}
    after = {
        n.id for s in block[position + 1 :] for n in all_nodes(s, ast.Name) if isinstance(n.ctx, ast.Load)
    }
    # A name that the block reads and writes again existed before it: a parameter or an earlier value.
    return not (made - before - read_inside) & after


def _with_preparation(block: Block, position: int) -> list[ast.stmt]:
    """The block, and the assignments just before it that serve nothing else."""
    taken = [block[position]]
    for statement in reversed(block[:position]):
        if not isinstance(statement, ast.Assign) or not all(_is_name(target) for target in statement.targets):
            break
        names = {n.id for t in statement.targets for n in all_nodes(t, ast.Name)}
        used = {n.id for s in taken for n in all_nodes(s, ast.Name)}
        others = [s for s in block if s not in taken and s is not statement]
        elsewhere = {n.id for s in others for n in all_nodes(s, ast.Name)}
        if not names & used or names & elsewhere:
            break
        taken.insert(0, statement)
    return taken


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(_is_name(element) for element in target.elts)
    return isinstance(target, ast.Name)


def _replaces_itself(statement: ast.stmt) -> bool:
    """`x = step(x, ...)`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    call = statement.value
    if not isinstance(call, ast.Call):
        return False
    target = ast.dump(statement.targets[0]).replace("Store()", "Load()")
    sources = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return any(ast.dump(source) == target for source in sources)


def _same_call(left: ast.stmt, right: ast.stmt) -> bool:
    return (
        isinstance(left, ast.Assign)
        and isinstance(right, ast.Assign)
        and isinstance(left.value, ast.Call)
        and isinstance(right.value, ast.Call)
        and _called(left.value) == _called(right.value)
    )


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.dump(call.func)


def _cut(source: Source, statements: list[ast.stmt]) -> Splice:
    """Whole lines, with the comment right above them."""
    lines, starts = lines_of(source)
    first = statements[0].lineno - 1
    last = statements[-1].end_lineno or statements[-1].lineno
    while first > 0 and lines[first - 1].strip().startswith("#"):
        first -= 1
    return Splice(source.file, starts[first], min(starts[last], len(source.text)), "")
