"""What is looked up or prepared under another name before it is called.

`getattr(torch.optim, "Adam")(...)` is `torch.optim.Adam(...)`, and `partial(Adam, lr=0.1)(weights)` is
`Adam(weights, lr=0.1)`, whether the partial has a name in between or not.
"""

from __future__ import annotations

import ast
from collections import Counter

from stethoscope.program.spelling.nodes import become, below, full_name, outside_names


def settle_indirect_calls(tree: ast.Module) -> None:
    """Write the attribute and the call that are meant."""
    imported = outside_names(tree)
    nodes = list(below(tree))
    for node in nodes:
        match node:
            case ast.Call(
                func=ast.Name(id="getattr"),
                args=[ast.Name() | ast.Attribute() as home, ast.Constant(value=str() as name)],
                keywords=[],
            ) if name.isidentifier() and full_name(home, imported):
                become(node, ast.Attribute(home, name, ast.Load()))
    prepared = _prepared(nodes, imported)
    for node in nodes:
        if isinstance(node, ast.Call):
            named = prepared.get(node.func.id) if isinstance(node.func, ast.Name) else None
            partial = named or _partial(node.func, imported)
            if partial is not None and not _is_spread(node):
                given = {word.arg for word in node.keywords}
                kept = [word for word in partial.keywords if word.arg not in given]
                node.func, node.args = partial.args[0], [*partial.args[1:], *node.args]
                node.keywords = [*node.keywords, *kept]


def _prepared(nodes: list[ast.AST], imported: dict[str, str]) -> dict[str, ast.Call]:
    """The names that a file gives once, and to a partial."""
    stored = Counter(one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    stored.update(one.arg for one in nodes if isinstance(one, ast.arg))
    return {
        node.targets[0].id: partial
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets) == 1
        if stored[node.targets[0].id] == 1
        if (partial := _partial(node.value, imported)) is not None
    }


def _partial(node: ast.expr, imported: dict[str, str]) -> ast.Call | None:
    """`partial(f, ...)`, of something that has a name."""
    match node:
        case ast.Call(func=func, args=[ast.Name() | ast.Attribute(), *_]) if full_name(
            func, imported
        ) == "functools.partial" and not _is_spread(node):
            return node
    return None


def _is_spread(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(
        word.arg is None for word in call.keywords
    )
