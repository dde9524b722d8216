"""Tensors that are computed in a statement of their own, so that nobody has them.

`scores.masked_fill(mask, -inf)` where `masked_fill_` was meant, `h + shift` that should have been assigned,
`rotate(k, cos, sin)` of a function that gives back what it made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.run import Source

# fmt: off
# Methods of tensors that give a new one, under names that little else has.
NEW_TENSORS = frozenset({
    "masked_fill", "masked_scatter", "index_fill", "index_copy", "index_add", "index_put", "scatter_add",
    "lerp", "clamp", "clamp_min", "clamp_max", "addcmul", "addcdiv", "addmm", "tril", "triu", "unsqueeze",
    "squeeze", "permute", "softmax", "log_softmax", "sigmoid", "rsqrt", "sqrt", "nan_to_num",
    "logical_not", "logical_and", "logical_or", "bitwise_not", "repeat_interleave", "bernoulli",
})
# Functions of torch that do nothing but compute, and those that reshape, with what they begin with.
COMPUTING = frozenset({
    *NEW_TENSORS, "where", "clip", "cat", "concat", "stack", "mul", "add", "sub", "div", "tanh", "relu",
    "gelu",
    "silu", "elu", "leaky_relu", "normalize", "dropout", "layer_norm", "group_norm", "rms_norm", "batch_norm",
    "pad", "interpolate", "flip", "roll", "exp", "log", "abs", "square", "neg", "maximum", "minimum",
    "transpose", "reshape", "flatten", "gather", "scatter", "outer", "softplus",
})
# What else a function that only computes may call.
READING = frozenset({
    "view", "reshape", "transpose", "chunk", "split", "unbind", "flatten", "unflatten", "expand", "expand_as",
    "contiguous", "float", "double", "half", "long", "int", "bool", "to", "type_as", "size", "dim", "numel",
    "mean", "sum", "std", "var", "pow", "exp", "log", "cos", "sin", "abs", "square", "norm", "max", "min",
    "matmul", "mul", "add", "sub", "div", "neg", "clone", "detach", "repeat", "narrow", "select", "amax",
    "amin",
    "argmax", "argmin", "gather", "t", "view_as", "ne", "eq", "gt", "lt", "cumsum", "cumprod", "roll", "flip",
})
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow)
BUILTINS = frozenset({
    "len", "range", "min", "max", "int", "float", "zip", "tuple", "list", "abs", "sum", "enumerate",
})
# fmt: on
FOR_THE_TIME = frozenset(
    {"bench", "benchmark", "warm", "warmup", "profile", "timeit", "time", "test", "raises"}
)
PURE_ROOTS = ("torch.nn.functional.", "torch.", "math.", "numpy.")
IMPURE = (
    "torch.nn.init.",
    "torch.cuda.",
    "torch.distributed.",
    "torch.utils.",
    "torch.backends.",
    "numpy.random.",
)
SCRIPT = "<script>"  # the top level of a file
# Functions of numpy that change the array that they get, and give nothing back.
CHANGING = frozenset(
    f"numpy.{name}" for name in ("fill_diagonal", "put", "place", "putmask", "copyto", "put_along_axis")
)
DEPTH = 3


@dataclass(frozen=True, slots=True, eq=False)
class ThrownResult:
    """A statement that computes and keeps nothing.

    `masks` says that a mask is what it would have applied.
    """

    source: Source
    statement: ast.Expr
    within: Function
    masks: bool


@remembered
def thrown_results(index: Index) -> tuple[ThrownResult, ...]:
    """Every such statement of the source."""
    return tuple(one for body in index.bodies for one in _thrown_in(index, body))


def _thrown_in(index: Index, body: Function) -> Iterator[ThrownResult]:
    if FOR_THE_TIME & set(words(body.name)):
        return
    for statement in _statements(body):
        if _is_thrown(index, body, statement.value):
            yield ThrownResult(body.source, statement, body, _masks(statement.value))


def _statements(body: Function) -> Iterator[ast.Expr]:
    """The bare expressions of a body; a cell of a notebook shows those at its top level, and a block that
    waits for an error wants nothing of what it computes."""
    is_script = body.node.name == SCRIPT
    waiting = [(statement, not is_script) for statement in body.node.body]
    while waiting:
        statement, counts = waiting.pop()
        if isinstance(statement, ast.Expr) and counts:
            yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Try):
            continue
        if isinstance(statement, ast.With) and _is_for_the_time(statement):
            continue
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                waiting.extend((one, True) for one in inner)


def _is_for_the_time(block: ast.With) -> bool:
    said = (node for item in block.items for node in ast.walk(item.context_expr))
    names = (getattr(node, "attr", None) or getattr(node, "id", None) for node in said)
    return any(FOR_THE_TIME & set(words(name)) for name in names if name)


def _is_thrown(index: Index, body: Function, value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ARITHMETIC) and _is_of_names(value) and not _calls_own_layer(value)
    if not isinstance(value, ast.Call) or _is_in_place(value):
        return False
    if isinstance(value.func, ast.Attribute) and value.func.attr in NEW_TENSORS:
        return _reads(index, body, value)
    full = _full_name(index, body, value.func)
    if full.startswith("torch.") and full.rpartition(".")[2] in COMPUTING:
        return bool(value.args) and full.rpartition(".")[0] in {
            "torch",
            "torch.nn.functional",
            "torch.special",
        }
    called = _called(index, body, value)
    return called is not None and _only_computes(index, called, DEPTH)


def _is_of_names(value: ast.BinOp) -> bool:
    return any(isinstance(node, ast.Name) for node in ast.walk(value))


def _calls_own_layer(value: ast.expr) -> bool:
    """`x + self.layer(x)`: a layer without influence, which experiments find."""
    return any(
        isinstance(node, ast.Call) and (dotted(node.func) or "").startswith("self.")
        for node in ast.walk(value)
    )


def _is_in_place(call: ast.Call) -> bool:
    """`F.relu(x, inplace=True)`, `torch.clamp(x, 0, 1, out=x)`, `F.dropout(x, 0.1, True, True)`,
    `np.nan_to_num(x, copy=False)`."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    return (
        bool(named.keys() & {"inplace", "out"})
        or _is_said(named.get("copy"), False)
        or any(_is_said(one, True) for one in call.args)
    )


def _is_said(value: ast.expr | None, truth: bool) -> bool:
    return isinstance(value, ast.Constant) and value.value is truth


def _full_name(index: Index, body: Function, func: ast.expr) -> str:
    name = dotted(func)
    target = index.resolve(index.module_of(body.source), name) if name else None
    return target.name if isinstance(target, External) else ""


def _called(index: Index, body: Function, call: ast.Call) -> Function | None:
    """The function of the repository that is called by its bare name, or as a method of the same object."""
    name = dotted(call.func) or ""
    if name.startswith("self.") and name.count(".") == 1 and body.owner is not None:
        return index.method(body.owner, name[5:])
    target = index.resolve(index.module_of(body.source), name) if name and "." not in name else None
    return target if isinstance(target, Function) else None


def _only_computes(index: Index, function: Function, left: int) -> bool:
    """Whether a function makes a tensor out of what it is given, and does nothing besides."""
    if function.node.decorator_list or not left:
        return False
    returned = False
    for node in own_nodes(function.node):
        if isinstance(
            node, ast.Yield | ast.YieldFrom | ast.Await | ast.Raise | ast.Assert | ast.Global | ast.With
        ):
            return False
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Return):
            if node.value is None or isinstance(node.value, ast.Constant):
                return False
            returned = True
        if isinstance(node, ast.Call) and not _reads(index, function, node, left):
            return False
    return returned and _makes_tensors(index, function)


def _reads(index: Index, within: Function, call: ast.Call, left: int = DEPTH) -> bool:
    """Whether a call changes nothing: a method or function of tensors, or of the repository's own."""
    full = _full_name(index, within, call.func)
    if full:
        return full.startswith(PURE_ROOTS) and not full.startswith(IMPURE) and not _is_seed_or_file(full)
    if isinstance(call.func, ast.Attribute):
        inner = call.func.value
        return call.func.attr in NEW_TENSORS | READING and (
            not isinstance(inner, ast.Call) or _reads(index, within, inner, left)
        )
    if isinstance(call.func, ast.Name) and call.func.id in BUILTINS:
        return True
    called = _called(index, within, call)
    return called is not None and called is not within and _only_computes(index, called, left - 1)


def _is_seed_or_file(full: str) -> bool:
    last = full.rpartition(".")[2]
    return (
        full in CHANGING
        or last.endswith("_")
        or last.startswith(("set_", "save", "load", "manual_seed", "use_", "compile"))
    )


def _makes_tensors(index: Index, function: Function) -> bool:
    """Whether torch or a method of tensors is at work: a helper of another kind is not what is looked for."""
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call):
            if _full_name(index, function, node.func).startswith("torch."):
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr in NEW_TENSORS:
                return True
    return False


def _masks(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"masked_fill", "masked_scatter", "tril", "triu"}
        for node in ast.walk(value)
    )
