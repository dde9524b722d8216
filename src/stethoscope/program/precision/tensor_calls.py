"""Calls of tensor operations as they are written: `x.var(-1)` and `torch.var(x, -1)` are the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.index import External, Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes, children
from stethoscope.program.walk.values import span_of
from stethoscope.run import Source, Splice

LONGEST_CHAIN = 6  # names looked through from a value back to how it was made


@dataclass(frozen=True, slots=True, eq=False)
class TensorCall:
    """An operation, the tensor it works on, and its other arguments."""

    name: str
    full: str
    operand: ast.expr
    args: tuple[ast.expr, ...]
    keywords: dict[str, ast.expr]
    node: ast.Call


@dataclass(frozen=True, eq=False)
class Body:
    """The statements of a function or script, with how its names are made and where expressions stand."""

    index: Index
    function: Function | Module
    nodes: tuple[ast.AST, ...]

    @property
    def source(self) -> Source:
        """The file."""
        return self.function.source

    @property
    def spoken(self) -> str:
        """The name people use for it."""
        return self.function.spoken if isinstance(self.function, Function) else self.function.name

    @cached_property
    def module(self) -> Module:
        """The module around."""
        is_script = isinstance(self.function, Module)
        return self.function if is_script else self.index.module_of(self.source)  # type: ignore[return-value]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node directly around each node."""
        return {child: node for node in self.nodes for child in children(node)}

    @cached_property
    def definitions(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """What each name is assigned, with the line."""
        found: dict[str, list[tuple[int, ast.expr]]] = {}
        for node in self.nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        for name in _stored(target):
                            found.setdefault(name, []).append((node.lineno, value))
                case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                    found.setdefault(name, []).append((node.lineno, value))
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    found.setdefault(name, []).append((node.lineno, value))
        return found

    def definition(self, node: ast.expr) -> ast.expr:
        """The expression a name was last assigned before it is used here, else the node itself."""
        for _ in range(LONGEST_CHAIN):
            if not isinstance(node, ast.Name):
                break
            earlier = [
                (line, value) for line, value in self.definitions.get(node.id, ()) if line < node.lineno
            ]
            if not earlier:
                break
            node = earlier[-1][1]
        return node

    def reach(self, node: ast.expr, depth: int = LONGEST_CHAIN) -> Iterator[ast.expr]:
        """An expression and all it is made of, through the names it uses."""
        waiting = [(node, depth)]
        seen: set[ast.expr] = set()
        while waiting:
            current, left = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            yield current
            if isinstance(current, ast.Name) and left:
                made = self.definition(current)
                if made is not current:
                    waiting.append((made, left - 1))
            waiting.extend((c, left) for c in children(current) if isinstance(c, ast.expr))

    def call(self, node: ast.AST) -> TensorCall | None:
        """A node as a call of an operation on a tensor."""
        if not isinstance(node, ast.Call):
            return None
        keywords = {word.arg: word.value for word in node.keywords if word.arg is not None}
        full = self.outside(node.func)
        if full:
            operand = node.args[0] if node.args else keywords.get("input")
            if operand is None or isinstance(operand, ast.Starred):
                return None
            rest = tuple(node.args[1:])
            return TensorCall(full.rpartition(".")[2], full, operand, rest, keywords, node)
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            return TensorCall(name, f".{name}", node.func.value, tuple(node.args), keywords, node)
        return None

    def outside(self, func: ast.expr) -> str:
        """The full name of a function from outside, "" for anything else."""
        name = dotted(func)
        if name is None or name.partition(".")[0] in self.definitions:
            return ""
        target = self.index.resolve(self.module, name)
        return target.name if isinstance(target, External) else ""

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that an expression stands in."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def text(self, node: ast.AST) -> str:
        """The source text of a node, on one line."""
        span = span_of(self.source, node)
        return " ".join(self.source.text[span[0] : span[1]].split()) if span else ""

    def upcast(self, node: ast.expr) -> Splice | None:
        """`.float()` written behind an expression."""
        span = span_of(self.source, node)
        if span is None:
            return None
        written = self.source.text[span[0] : span[1]]
        is_atom = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        text = f"{written}.float()" if is_atom else f"({written}).float()"
        return Splice(self.source.file, span[0], span[1], text)


def _stored(target: ast.expr) -> Iterator[str]:
    for node in all_nodes(target):
        if isinstance(node, ast.Name):
            yield node.id
