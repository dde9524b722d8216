"""Cross entropies over tables of likenesses that are read or made in a wrong way.

In a table of a batch with itself each sample is most like itself: the diagonal has to go. In a table whose
first column is the matching pair, the answer is the first column for every row; in a table of two batches it
is another column for each row. Vectors are given a length of one along what the product sums over. And a
temperature divides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.weights.numbers import number
from stethoscope.run import Source

DEPTH = 6
TEMPERATURES = frozenset({"temperature", "temp", "tau", "temperatures"})
_HIDES_DIAGONAL = re.compile(
    r"diag|\beye\b|mask|identity|triu|tril|logical_not|\bdelete|inf|1e[3-9]|self_|scatter|remove|~|!=|\bne\("
)
_ENTROPY = re.compile(
    r"cross_entropy|CrossEntropy|log_softmax|logsumexp|criterion|\bce\b|loss_fn", re.IGNORECASE
)
PASSING = frozenset({"view", "reshape", "to", "float", "contiguous", "flatten", "squeeze", "exp", "half"})


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """What is wrong with a table of likenesses: `kind` is "itself", "labels", "column", "lengths" or
    "temperature"."""

    source: Source
    node: ast.expr
    kind: str


def contrasts(index: Index) -> Iterator[Contrast]:
    """The tables of a program that are made or read in a wrong way."""
    # Asked of each file once: it has many functions.
    speaking = {
        id(source) for source in index.program if not is_test(source) and _ENTROPY.search(source.text)
    }
    for function in index.bodies:
        if id(function.source) not in speaking:
            continue
        found: dict[int, Contrast] = {}
        for product in own_nodes(function.node, ast.BinOp) if "normalize(" in function.source.text else ():
            if _is_of_lengths_over_batch(function, product):
                found.setdefault(id(product), Contrast(function.source, product, "lengths"))
        for call in own_nodes(function.node, ast.Call):
            name = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
            if _ENTROPY.search(name) and len(call.args) >= 2:
                for one in _of_entropy(function, call):
                    found.setdefault(id(one.node), one)
        yield from found.values()


def _of_entropy(function: Function, call: ast.Call) -> Iterator[Contrast]:
    table, labels = call.args[:2]
    made = _resolved(function, table, DEPTH)
    if _is_cat_of_pair(function, made) and _is_count(_resolved(function, labels, DEPTH)):
        yield Contrast(function.source, labels, "labels")
    product, factors = _product(function, table, DEPTH)
    if product is None:
        return
    if _is_with_itself(function, product) and not _HIDES_DIAGONAL.search(ast.unparse(function.node)):
        yield Contrast(function.source, product, "itself")
    if _is_square(product) and _are_zeros(_resolved(function, labels, DEPTH)):
        yield Contrast(function.source, labels, "column")
    for factor in factors:
        if _is_small_temperature(function, factor):
            yield Contrast(function.source, factor, "temperature")


def _given(function: Function, name: str) -> list[ast.expr]:
    return [
        one.value
        for one in own_nodes(function.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
    ]


def _resolved(function: Function, node: ast.expr, depth: int) -> ast.expr:
    """What a name stands for, without views, casts and a temperature below it."""
    match node:
        case ast.Name(id=name) if depth:
            given = _given(function, name)
            return _resolved(function, given[0], depth - 1) if len(given) == 1 else node
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if depth and attr in PASSING:
            return _resolved(function, inner, depth - 1)
        case ast.BinOp(left=left, op=ast.Div()) if depth:
            return _resolved(function, left, depth - 1)
    return node


# The first column


def _is_cat_of_pair(function: Function, node: ast.expr) -> bool:
    """`cat([positive, negatives], dim=1)`, the first of them one column."""
    match node:
        case ast.Call(args=[ast.List(elts=[first, _]) | ast.Tuple(elts=[first, _]), *_]):
            last = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
            axes = [number(one) for one in (*node.args[1:], *(word.value for word in node.keywords))]
            if last not in {"cat", "concat", "concatenate", "hstack"} or not {1.0, -1.0} & set(axes):
                return False
            column = ast.unparse(_resolved_once(function, first))
            is_pair = bool({"pos", "positive", "positives"} & _spoken(first))
            return is_pair and bool(re.search(r"unsqueeze\((?:-1|1|dim=-?1)\)|keepdim=True|None\]", column))
    return False


def _resolved_once(function: Function, node: ast.expr) -> ast.expr:
    given = _given(function, node.id) if isinstance(node, ast.Name) else []
    return given[0] if len(given) == 1 else node


def _is_count(node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "arange":
            return True
        node = node.func.value
    return False


# The table of a batch with itself


def _product(function: Function, node: ast.expr, depth: int) -> tuple[ast.expr | None, list[ast.expr]]:
    """The table of likenesses that a value is made of, and what it is multiplied with."""
    if depth == 0:
        return None, []
    match node:
        case ast.Name(id=name):
            given = _given(function, name)
            return _product(function, given[0], depth - 1) if len(given) == 1 else (None, [])
        case ast.BinOp(op=ast.MatMult()):
            return node, []
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            for side, other in ((left, right), (right, left)):
                found, factors = _product(function, side, depth - 1)
                if found is not None:
                    return found, [*factors, other]
        case ast.BinOp(op=ast.Div(), left=left):
            return _product(function, left, depth - 1)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=args):
            if (attr in {"matmul", "mm"} and args) or (attr == "cosine_similarity" and len(args) > 1):
                return node, []
            if attr in PASSING | {"t"}:
                return _product(function, inner, depth - 1)
        case ast.Attribute(value=inner, attr="T" | "mT"):
            return _product(function, inner, depth - 1)
    return None, []


def _is_with_itself(function: Function, product: ast.expr) -> bool:
    """`z @ z.T` of two views of every sample, joined along the batch."""
    match product:
        case ast.BinOp(left=left, right=right):
            pass
        case ast.Call(args=[left, right, *_]):
            pass
        case _:
            return False
    own = ast.unparse(left)
    turned = {f"{own}.T", f"{own}.t()", f"{own}.mT", f"{own}.transpose(0, 1)", f"{own}.transpose(1, 0)"}
    if ast.unparse(right) not in turned or not isinstance(left, ast.Name):
        return False
    return any(_is_join(function, one, DEPTH) for one in _given(function, left.id))


def _is_join(function: Function, node: ast.expr, depth: int) -> bool:
    """`cat([z1, z2])`, made unit length or not."""
    match node:
        case ast.Call(args=[ast.List(elts=[_, _]) | ast.Tuple(elts=[_, _]), *rest]):
            last = str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))
            axes = [number(one) for one in (*rest, *(word.value for word in node.keywords))]
            return last in {"cat", "concat", "vstack"} and not {1.0, -1.0} & set(axes)
        case ast.Call(args=[inner, *_]) if depth and "norm" in (dotted(node.func) or ""):
            return _is_join(function, inner, depth - 1)
        case ast.Name(id=name) if depth:
            return any(
                _is_join(function, one, depth - 1) for one in _given(function, name) if one is not node
            )
    return False


# Lengths


def _is_of_lengths_over_batch(function: Function, product: ast.BinOp) -> bool:
    """`a @ b.t()` of rows whose columns have a length of one: no row has."""
    match product:
        case ast.BinOp(op=ast.MatMult(), left=left, right=ast.Attribute(value=right, attr="T" | "mT")):
            pass
        case ast.BinOp(
            op=ast.MatMult(),
            left=left,
            right=ast.Call(func=ast.Attribute(value=right, attr="t" | "transpose" | "permute")),
        ):
            pass
        case _:
            return False
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult):  # `scale * a @ b.t()`
        sides = (left.left, left.right)
        left = next((one for one in sides if _has_lengths_over_batch(function, one)), left)
    return _has_lengths_over_batch(function, left) and _has_lengths_over_batch(function, right)


def _has_lengths_over_batch(function: Function, node: ast.expr) -> bool:
    """`F.normalize(z, dim=0)`, under a name or not."""
    match _resolved_once(function, node):
        case ast.Call(func=func, args=args, keywords=keywords) as call:
            axes = [word.value for word in keywords if word.arg == "dim"] or args[2:3]
            is_unit = (dotted(func) or "").rpartition(".")[2] == "normalize" and len(call.args) > 0
            return is_unit and len(axes) == 1 and number(axes[0]) == 0
    return False


# One column for all rows


def _is_square(product: ast.expr) -> bool:
    """`queries @ passages.T`: every row against every row of two matrices."""
    match product:
        case ast.BinOp(
            right=ast.Attribute(attr="T" | "mT") | ast.Call(func=ast.Attribute(attr="t"), args=[])
        ):
            return True
    return False


def _are_zeros(labels: ast.expr) -> bool:
    name = (dotted(labels.func) or "") if isinstance(labels, ast.Call) else ""
    return name in {"torch.zeros", "torch.zeros_like", "np.zeros"}


# The temperature


def _is_small_temperature(function: Function, factor: ast.expr) -> bool:
    """Whether a factor is a temperature whose number, where it is told, lies below one."""
    last = (dotted(factor) or "").rpartition(".")[2]
    if not TEMPERATURES & set(words(last)):
        return False
    told = list(_told(function, last))
    return bool(told) and all(0 < one < 1 for one in told)


def _told(function: Function, name: str) -> Iterator[float]:
    """The numbers that defaults and plain assignments of a file give to a name."""
    for node in all_nodes(function.source.tree):
        match node:
            case ast.FunctionDef(args=spec):
                args = [*spec.posonlyargs, *spec.args]
                pairs = [*zip(args[len(args) - len(spec.defaults) :], spec.defaults, strict=True)]
                pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d]
                yield from (v for a, d in pairs if a.arg == name and (v := number(d)) is not None)
            case ast.Assign(targets=[target], value=value):
                if (dotted(target) or "").rpartition(".")[2] == name and (v := number(value)) is not None:
                    yield v
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                if (dotted(target) or "").rpartition(".")[2] == name and (v := number(value)) is not None:
                    yield v


def _spoken(node: ast.AST) -> set[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in all_nodes(node))
    return {word for name in names if isinstance(name, str) for word in words(name)}
