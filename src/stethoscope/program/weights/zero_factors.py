"""Products of two parameters that both begin at zero: the gradient of each is the other one, which is zero.

delta = x @ self.A.t() @ self.B.t()       with A and B of zeros
self.up(self.down(x))                     with both weights set to zero and no bias between them
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
FILLING = frozenset({"zeros_", "zero_"})


@dataclass(frozen=True, slots=True, eq=False)
class ZeroProduct:
    """A product and its two factors, with where each is set to zero."""

    source: Source
    product: ast.AST
    names: tuple[str, str]
    zeros: tuple[ast.AST, ast.AST]


def zero_products(index: Index) -> Iterator[ZeroProduct]:
    """The products of a program that no step can move."""
    for cls in index.classes:
        if is_test(cls.source) or "zero" not in cls.source.text or "forward" not in cls.methods:
            continue
        zeros = _zeros(cls)
        if len(zeros) < 2 or _is_set_elsewhere(index, cls, zeros):
            continue
        for product, names in _products(cls, zeros):
            first, second = sorted(names)[:2]
            yield ZeroProduct(cls.source, product, (first, second), (zeros[first], zeros[second]))
            break


def _zeros(cls: Class) -> dict[str, ast.AST]:
    """The parameters that a class begins at zero, and that nothing else in it fills."""
    found: dict[str, ast.AST] = {}
    chosen = {id(one) for node in all_nodes(cls.node, ast.If) for one in all_nodes(node)}
    for node in all_nodes(cls.node):
        if id(node) in chosen:
            continue
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=[ast.Call() as made, *_]) as call):
                name = dotted(target) or ""
                is_parameter = _last(call.func) == "Parameter" and _last(made.func) in ZEROS
                if is_parameter and name.startswith("self."):
                    found[name] = node
            case ast.Call(func=func, args=args) if _last(func) in FILLING:
                given = args[0] if args else getattr(func, "value", None)
                name = (dotted(given) or "") if given is not None else ""
                bare = name.removesuffix(".data").removesuffix(".weight")
                is_layer = name.removesuffix(".data").endswith(".weight")
                if name.startswith("self.") and (
                    _has_no_bias(cls, bare) if is_layer else bare.count(".") == 1
                ):
                    found[bare] = node
    filled = {name for call in all_nodes(cls.node, ast.Call) for name in _filled(call)}
    return {name: node for name, node in found.items() if name not in filled}


def _has_no_bias(cls: Class, name: str) -> bool:
    """Whether a layer is made without a bias, which would not be zero."""
    for node in all_nodes(cls.node, ast.Assign):
        if isinstance(node.value, ast.Call) and any(dotted(target) == name for target in node.targets):
            if _last(node.value.func) == "Embedding":
                return True
            told = {word.arg: word.value for word in node.value.keywords}
            bias = told.get("bias")
            return isinstance(bias, ast.Constant) and bias.value is False
    return False


def _filled(call: ast.Call) -> Iterator[str]:
    """What an initialiser, or any other call in place, gives another value."""
    last = _last(call.func)
    if not last.endswith("_") or last in FILLING or last.startswith("requires_grad"):
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    for one in (*call.args[:1], *([owner] if owner is not None else [])):
        name = dotted(one) or ""
        if name.startswith("self."):
            yield name.removesuffix(".data").removesuffix(".weight")


def _is_set_elsewhere(index: Index, cls: Class, zeros: dict[str, ast.AST]) -> bool:
    """Whether code outside of the class fills a parameter of one of these names."""
    ends = tuple(name.removeprefix("self") for name in zeros)
    for source in index.program:
        for call in all_nodes(source.tree, ast.Call) if cls.name in source.text else ():
            last = _last(call.func)
            is_filling = last.endswith("_") and last not in FILLING and not last.startswith("requires_grad")
            given = dotted(call.args[0]) or "" if call.args else ""
            names = (given, dotted(getattr(call.func, "value", call.func)) or "")
            if is_filling and any(
                name.removesuffix(".data").removesuffix(".weight").endswith(ends)
                and not name.startswith("self.")
                for name in names
            ):
                return True
    return False


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _products(cls: Class, zeros: dict[str, ast.AST]) -> Iterator[tuple[ast.AST, set[str]]]:
    """The products and chains of calls that hold two of the parameters as factors."""
    for method in cls.methods.values():
        for node in all_nodes(method.node):
            factors: list[ast.expr] = []
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult | ast.Mult):
                factors = list(_factors(node))
            elif isinstance(node, ast.Call) and _last(node.func) in {"matmul", "mm", "bmm"}:
                factors = [one for arg in node.args for one in _factors(arg)]
            elif isinstance(node, ast.Call) and dotted(node.func) in zeros and len(node.args) == 1:
                inner = node.args[0]
                factors = [node.func, *([inner.func] if isinstance(inner, ast.Call) else [])]
            names = {name for one in factors if (name := _own(one)) in zeros}
            if len(names) > 1:
                yield node, names


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.MatMult() | ast.Mult(), right=right):
            yield from _factors(left)
            yield from _factors(right)
        case _:
            yield node


def _own(node: ast.expr) -> str:
    """`self.A` of `self.A`, `self.A.t()`, `self.A.T` and `self.A.weight`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if dotted(node.func.value) is None or (dotted(node.func) or "").count(".") < 2:
            break
        node = node.func.value
    name = dotted(node.func if isinstance(node, ast.Call) else node) or ""
    for end in (".T", ".mT", ".weight", ".data"):
        name = name.removesuffix(end)
    return name
