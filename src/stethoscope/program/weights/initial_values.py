"""What the source writes into weights and biases before training, and into which layers.

Only what is written under no condition but the kind of layer is told: a value that an option chooses is not
known to be written.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes, children
from stethoscope.program.weights.layers import DENSE, Layer, attribute_of, kind_of, layers_of
from stethoscope.program.weights.numbers import number
from stethoscope.run import Program, Source, Where

_WRITES = re.compile(r"(?:zeros|ones|constant|normal|uniform|trunc_normal|zero|fill)_?\(")
_FITTED = re.compile(r"^(?:xavier|kaiming|glorot|he|orthogonal|lecun|dirac|eye|sparse|variance_scaling)")
_PER_MODULE = frozenset({"_init_weights", "init_weights", "weights_init", "weight_init", "init_weight"})
# Conditions that leave the matrices of a network.
_ABOUT_MATRICES = re.compile(
    r"^\w+\.(?:dim\(\)|ndim|ndimension\(\)) (?:> 1|>= 2)$|^len\(\w+\.(?:shape|size\(\))\) (?:> 1|>= 2)$"
    r"|^'weight' in \w+$|^\w+\.endswith\('\.?weight'\)$|^\w+\.requires_grad$"
)
_NEUTRAL = re.compile(r"^(?:[\w.]+ is not None|hasattr\(.*\)|[\w.]+\.requires_grad)$")


@dataclass(frozen=True, slots=True, eq=False)
class InitialValue:
    """One write: into the `weight` or `bias` of every layer of some kinds, or of the attributes of a class.

    `value` is the constant that is written, `std` the deviation of random numbers; both are None for random
    numbers that are fitted to the size of the layer, or whose size cannot be told. `base` is the layer as it
    is written.
    """

    source: Source
    node: ast.Call
    part: str
    kinds: frozenset[str]
    every: bool
    attributes: tuple[str, ...]
    owner: ast.ClassDef | None
    function: FunctionNode | None
    value: float | None
    std: float | None
    mean: float = 0.0
    base: str = ""

    @property
    def where(self) -> Where:
        """Its address."""
        return self.source.where(self.node)

    @property
    def is_random(self) -> bool:
        """Whether units come out different from each other."""
        return self.value is None

    def layer(self, attribute: str) -> Layer | None:
        """The layer of an attribute that it writes into."""
        return layers_of(self.owner).get(attribute) if self.owner is not None else None


@remembered
def initial_values(program: Program) -> tuple[InitialValue, ...]:
    """Every write into weights and biases, in the order of the files."""
    applied = _applied(program)
    return tuple(one for source in program for one in _of_source(source, applied))


def _applied(program: Program) -> frozenset[str]:
    """The functions that are handed to `apply`, so that each part of a network is given to them."""
    found: set[str] = set()
    for source in program:
        if ".apply(" in source.text:
            for call in all_nodes(source.tree, ast.Call):
                if isinstance(call.func, ast.Attribute) and call.func.attr == "apply" and call.args:
                    found.add((dotted(call.args[0]) or "").rpartition(".")[2])
    return frozenset(found - {""})


def _of_source(source: Source, applied: frozenset[str]) -> Iterator[InitialValue]:
    if not _WRITES.search(source.text):
        return
    parents = {child: node for node in all_nodes(source.tree) for child in children(node)}
    for call in sorted(all_nodes(source.tree, ast.Call), key=lambda one: one.lineno):
        written = _written(call)
        if written is not None:
            target, value, std, mean = written
            yield from _into(source, call, target, (value, std, mean), parents, applied)


# --- what is written


def _written(call: ast.Call) -> tuple[ast.expr, float | None, float | None, float] | None:
    """The tensor that a call fills, with its constant, the deviation and the mean of its random numbers."""
    func = call.func
    name = (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")).rstrip("_")
    home = dotted(func.value) or "" if isinstance(func, ast.Attribute) else ""
    by_function = home.rpartition(".")[2] == "init" or (isinstance(func, ast.Name) and func.id.endswith("_"))
    if by_function and call.args:
        return _filled(name, call.args[0], call.args[1:], call)
    if isinstance(func, ast.Attribute) and func.attr.endswith("_"):
        return _filled(name, func.value, call.args, call)
    return None


def _filled(
    name: str, target: ast.expr, given: list[ast.expr], call: ast.Call
) -> tuple[ast.expr, float | None, float | None, float] | None:
    named = {keyword.arg: keyword.value for keyword in call.keywords}

    def argument(place: int, key: str, default: float) -> float | None:
        node = given[place] if place < len(given) else named.get(key)
        return default if node is None else number(node)

    if name in {"zeros", "zero"}:
        return target, 0.0, None, 0.0
    if name == "ones":
        return target, 1.0, None, 0.0
    if name in {"constant", "fill"}:
        value = argument(0, "val", math.nan)
        return None if value is None or math.isnan(value) else (target, value, None, 0.0)
    if name in {"normal", "trunc_normal"}:
        return target, None, argument(1, "std", 1.0), argument(0, "mean", 0.0) or 0.0
    if name == "uniform":
        low, high = argument(0, "a", 0.0), argument(1, "b", 1.0)
        if low is None or high is None:
            return target, None, None, 0.0
        return target, None, (high - low) / math.sqrt(12), 0.0
    return (target, None, None, 0.0) if _FITTED.match(name) else None


# --- into what


def _into(
    source: Source,
    call: ast.Call,
    target: ast.expr,
    amounts: tuple[float | None, float | None, float],
    parents: dict[ast.AST, ast.AST],
    applied: frozenset[str],
) -> Iterator[InitialValue]:
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    if isinstance(target, ast.Name):
        yield from _into_every(source, call, target, amounts, parents)
    if not isinstance(target, ast.Attribute) or target.attr not in {"weight", "bias"}:
        return
    base = target.value
    around = list(_around(call, parents))
    owner = next((node for node in around if isinstance(node, ast.ClassDef)), None)
    function = next((node for node in around if isinstance(node, FunctionNode)), None)
    kinds = _kinds(call, base, around)
    if kinds is None:
        return
    place = _place(base, around, applied, owner, function)
    if place is None:
        return
    every, attributes, made = place
    value, std, mean = amounts
    yield InitialValue(
        source,
        call,
        target.attr,
        kinds or made,
        every,
        attributes,
        owner,
        function,
        value,
        std,
        mean,
        ast.unparse(base),
    )


def _into_every(
    source: Source,
    call: ast.Call,
    target: ast.Name,
    amounts: tuple[float | None, float | None, float],
    parents: dict[ast.AST, ast.AST],
) -> Iterator[InitialValue]:
    """Random numbers for every matrix among the parameters: `for p in net.parameters(): normal_(p)`."""
    value, std, mean = amounts
    around = list(_around(call, parents))
    loop = next((node for node in around if isinstance(node, ast.For | FunctionNode)), None)
    if value is not None or not isinstance(loop, ast.For) or not _goes_through_parameters(loop, target.id):
        return
    inside = around[: around.index(loop)]
    if any(_is_otherwise(one, [call, *inside]) for one in inside):
        return  # what is no matrix
    tests = [node.test for node in inside if isinstance(node, ast.If)]
    if not all(_ABOUT_MATRICES.search(ast.unparse(test)) for test in tests):
        return
    owner = next((node for node in around if isinstance(node, ast.ClassDef)), None)
    function = next((node for node in around if isinstance(node, FunctionNode)), None)
    made = {kind_of(node) for node in all_nodes(owner or source.tree, ast.Call)} & DENSE
    if made:
        kinds = frozenset(made)
        yield InitialValue(
            source, call, "weight", kinds, True, (), owner, function, value, std, mean, target.id
        )


def _is_otherwise(test: ast.AST, path: list[ast.AST]) -> bool:
    """Whether a path of nodes, from the inside, leads through the other arm of a question."""
    arm = test.orelse if isinstance(test, ast.If) else []
    return any(one is statement for one in path for statement in arm)


def _goes_through_parameters(loop: ast.For, name: str) -> bool:
    match loop.iter:
        case ast.Call(func=ast.Attribute(attr="parameters" | "named_parameters"), args=[]):
            return name in _names(loop.target)
    return False


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def _kinds(call: ast.Call, base: ast.expr, around: list[ast.AST]) -> frozenset[str] | None:
    """The kinds of layer that the conditions around a write leave; None where they ask for more."""
    found: frozenset[str] = frozenset()
    inner: ast.AST = call
    for node in around:
        if isinstance(node, FunctionNode | ast.ClassDef):
            break
        if isinstance(node, ast.If):
            asked = _asked(node.test, base)
            if asked is None:
                return None
            if any(inner is statement for statement in node.body):
                found = found or asked
        inner = node
    return found


def _asked(test: ast.expr, base: ast.expr) -> frozenset[str] | None:
    """The kinds that a condition names, nothing where it asks for none; None for any other condition."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            parts = kinds.elts if isinstance(kinds, ast.Tuple | ast.List) else _alternatives(kinds)
            return frozenset((dotted(part) or "?").rpartition(".")[2] for part in parts)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type")), ops=[ast.Eq() | ast.Is()], comparators=[kind]
        ):
            return frozenset({(dotted(kind) or "?").rpartition(".")[2]})
        case ast.Compare(
            left=ast.Call(func=ast.Attribute(attr="find"), args=[ast.Constant(value=str() as word)])
        ):
            return frozenset({word})
        case ast.Compare(left=ast.Constant(value=str() as word), ops=[ast.In()]):
            return frozenset({word})
        case ast.BoolOp(values=values):
            parts_of = [_asked(value, base) for value in values]
            if None in parts_of:
                return None
            return frozenset(kind for part in parts_of if part for kind in part)
    return frozenset() if _NEUTRAL.match(ast.unparse(test)) else None


def _alternatives(kinds: ast.expr) -> list[ast.expr]:
    """`nn.Linear | nn.Conv2d` is two."""
    if isinstance(kinds, ast.BinOp) and isinstance(kinds.op, ast.BitOr):
        return [*_alternatives(kinds.left), *_alternatives(kinds.right)]
    return [kinds]


def _place(
    base: ast.expr,
    around: list[ast.AST],
    applied: frozenset[str],
    owner: ast.ClassDef | None,
    function: FunctionNode | None,
) -> tuple[bool, tuple[str, ...], frozenset[str]] | None:
    """Whether every layer is meant, else which attributes, and the kinds these are."""
    if attribute := attribute_of(base):
        return False, (attribute,), _kinds_of(owner, (attribute,))
    if not isinstance(base, ast.Name):
        return None
    for node in around:
        if isinstance(node, ast.For) and base.id in _names(node.target):
            return _gone_through(node.iter, owner)
        if isinstance(node, FunctionNode):
            break
    if function is None:
        return None
    parameters = [arg.arg for arg in function.args.args if arg.arg not in {"self", "cls"}]
    if parameters[:1] == [base.id]:
        is_each = function.name in applied or function.name in _PER_MODULE
        return (True, (), frozenset()) if is_each else None
    for node in all_nodes(function, ast.Assign):
        if any(isinstance(one, ast.Name) and one.id == base.id for one in node.targets) and kind_of(
            node.value
        ):
            return False, (), frozenset({kind_of(node.value)})
    return None


def _gone_through(
    iterated: ast.expr, owner: ast.ClassDef | None
) -> tuple[bool, tuple[str, ...], frozenset[str]] | None:
    match iterated:
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="modules" | "named_modules")):
            return True, (), frozenset()
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            names = tuple(filter(None, map(attribute_of, parts)))
            return (False, names, _kinds_of(owner, names)) if len(names) == len(parts) else None
    return None


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _kinds_of(owner: ast.ClassDef | None, attributes: tuple[str, ...]) -> frozenset[str]:
    made = layers_of(owner) if owner is not None else {}
    return frozenset(made[name].kind for name in attributes if name in made)
