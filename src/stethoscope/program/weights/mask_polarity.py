"""Which places a mask of attention marks: those to look at, or those to leave out.

`tril` and `ids != pad` mark what may be looked at; `triu` and `ids == pad` what may not. Comparing with zero,
negating and transposing turn that round. `masked_fill(mask, -inf)` and torch's padding masks leave out what
is marked, and so does a mask times a large negative number that is added to the scores; boolean masks of
`scaled_dot_product_attention` look at it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

LOOK, LEAVE = "look", "leave"
_TURNED = {LOOK: LEAVE, LEAVE: LOOK}
DEPTH = 8
# What leaves the marks where they are.
KEEPING = frozenset({
    "bool", "to", "type", "cuda", "view", "unsqueeze", "expand", "repeat", "byte", "float", "int", "long",
    "reshape", "squeeze", "expand_as", "type_as", "clone", "detach", "contiguous", "cpu", "astype",
    "from_numpy",
})  # fmt: skip
NEGATING = frozenset({"logical_not", "bitwise_not"})
TRANSPOSING = frozenset({"transpose", "t", "permute", "swapaxes", "mT", "T"})
LOWEST = -1e3
TRANSFORMERS = (
    "Transformer",
    "TransformerEncoder",
    "TransformerDecoder",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "MultiheadAttention",
)
OWN_MASKS = ("mask", "src_mask", "tgt_mask", "attn_mask")


@dataclass(frozen=True, slots=True, eq=False)
class TurnedMask:
    """A mask that marks the opposite of what it is used for."""

    source: Source
    mask: ast.expr
    used: ast.expr
    is_padding: bool


def turned_masks(index: Index) -> Iterator[TurnedMask]:
    """The masks of a program that are used the wrong way round."""
    for function in index.bodies:
        source = function.source
        if is_test(source) or ("mask" not in source.text and "tri" not in source.text):
            continue
        for call in own_nodes(function.node, ast.Call):
            for mask, wanted in _uses(index, function, call):
                marks = _marks(index, function, mask, DEPTH)
                if marks is not None and marks[0] != wanted:
                    yield TurnedMask(source, mask, call, marks[1])
        for product in own_nodes(function.node, ast.BinOp):
            added = _added_mask(product)
            marks = _marks(index, function, added, DEPTH) if added is not None else None
            if added is not None and marks is not None and marks[0] == LOOK:
                yield TurnedMask(source, added, product, marks[1])


def _added_mask(product: ast.BinOp) -> ast.expr | None:
    """`mask` of `mask * -1e9`: what it marks is as good as left out of a softmax."""
    if not isinstance(product.op, ast.Mult):
        return None
    for mask, lowest in ((product.left, product.right), (product.right, product.left)):
        if _is_lowest(lowest):
            return mask
    return None


def _uses(index: Index, function: Function, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """The masks that a call gets, and what each should mark."""
    last = _last(call.func)
    words_given = {word.arg: word.value for word in call.keywords}
    if last in {"masked_fill", "masked_fill_"} and len(call.args) >= 2:
        is_method = not (isinstance(call.func, ast.Attribute) and dotted(call.func.value) == "torch")
        mask, value = call.args[:2] if is_method else (call.args[1], call.args[-1])
        if _is_lowest(value):
            yield mask, LEAVE
    elif last == "where" and len(call.args) == 3:
        if _is_lowest(call.args[2]):
            yield call.args[0], LOOK
        elif _is_lowest(call.args[1]):
            yield call.args[0], LEAVE
    elif last == "scaled_dot_product_attention":
        given = words_given.get("attn_mask") or (call.args[3] if len(call.args) > 3 else None)
        if given is not None and _is_boolean(index, function, given):
            yield given, LOOK
    elif _is_torch_attention(function, call):
        for name, given in words_given.items():
            is_padding = (name or "").endswith("key_padding_mask")
            if is_padding or (name in OWN_MASKS and _is_boolean(index, function, given)):
                yield given, LEAVE


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _is_lowest(node: ast.expr) -> bool:
    """`-inf`, `-1e9`, `torch.finfo(x.dtype).min`: what a softmax makes nothing of."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value <= LOWEST
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return "inf" in ast.unparse(inner)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return text.strip().lower().startswith("-inf")
        case ast.Attribute(value=ast.Call() as called, attr="min"):
            return "finfo" in ast.unparse(called.func)
    return False


def _is_torch_attention(function: Function, call: ast.Call) -> bool:
    """Whether a call is of a layer of torch that the class of the function makes."""
    name = dotted(call.func) or ""
    if not name.startswith("self.") or function.owner is None:
        return False
    attribute = name.split(".")[1]  # `self.core.encoder(..)` is a part of `self.core`
    return f"self.{attribute}" in _attending(function.owner)


@remembered
def _attending(cls: Class) -> frozenset[str]:
    """What a class is given that holds a layer of torch which attends."""
    return frozenset(
        name
        for node in all_nodes(cls.node, ast.Assign)
        if any(_last(one.func) in TRANSFORMERS for one in all_nodes(node.value, ast.Call))
        for target in _targets(node)
        if (name := dotted(target)) is not None
    )


def _targets(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from target.elts if isinstance(target, ast.Tuple) else (target,)


def _is_boolean(index: Index, function: Function, node: ast.expr) -> bool:
    """Whether a mask is of truths, and not of numbers that are added."""
    for one in _written(index, function, node, DEPTH):
        for part in all_nodes(one):
            if isinstance(part, ast.Compare) or (isinstance(part, ast.Call) and _last(part.func) == "bool"):
                return True
            if isinstance(part, ast.Attribute) and part.attr == "bool" and _last(part.value) == "torch":
                return True
    return False


def _written(index: Index, function: Function, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    yield node
    inner = node
    while isinstance(inner, ast.Subscript):
        inner = inner.value
    made = _made(index, function, inner) if depth else None
    if made is not None:
        yield from _written(index, function, made, depth - 1)


# What a mask marks


def _marks(index: Index, function: Function, node: ast.expr, depth: int) -> tuple[str, bool] | None:
    """What an expression marks, and whether by padding; None where it cannot be seen."""
    if depth == 0:
        return None
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _of_comparison(index, function, left, operator, right, depth)
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=inner):
            return _turned(_marks(index, function, inner, depth - 1))
        case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0), right=inner):
            return _turned(_marks(index, function, inner, depth - 1))
        case ast.Subscript(value=inner, slice=key):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return (LOOK, True) if key.value == "attention_mask" else None
            return _marks(index, function, inner, depth - 1)
        case ast.Call():
            return _of_call(index, function, node, depth)
        case ast.Attribute(value=inner, attr=name) if name in TRANSPOSING:
            return _transposed(_marks(index, function, inner, depth - 1))
        case ast.Name(id="attention_mask") if _is_tokenizers(function):
            return LOOK, True
        case ast.Name() | ast.Attribute():
            made = _made(index, function, node)
            return _marks(index, function, made, depth - 1) if made is not None else None
    return None


def _is_tokenizers(function: Function) -> bool:
    """Whether a function is handed a tokenizer's mask beside its tokens, and never changes it.

    Inner layers are left alone: libraries hand them masks of the same name that mark the opposite.
    """
    stored = {one.id for one in own_nodes(function.node, ast.Name) if isinstance(one.ctx, ast.Store)}
    return {"attention_mask", "input_ids"} <= set(function.parameters) and "attention_mask" not in stored


def _turned(marks: tuple[str, bool] | None) -> tuple[str, bool] | None:
    return (_TURNED[marks[0]], marks[1]) if marks is not None else None


def _transposed(marks: tuple[str, bool] | None) -> tuple[str, bool] | None:
    """The other triangle; padding stays what it is."""
    return marks if marks is None or marks[1] else _turned(marks)


def _of_comparison(
    index: Index, function: Function, left: ast.expr, operator: ast.cmpop, right: ast.expr, depth: int
) -> tuple[str, bool] | None:
    if not isinstance(operator, ast.Eq | ast.NotEq):
        return None
    is_equal = isinstance(operator, ast.Eq)
    if _is_padding(right):
        return (LEAVE if is_equal else LOOK), True
    if not isinstance(right, ast.Constant) or right.value not in (0, 1, 0.0, 1.0, True, False):
        return None
    marks = _marks(index, function, left, depth - 1)
    return marks if bool(right.value) is is_equal else _turned(marks)


def _is_padding(node: ast.expr) -> bool:
    spoken = set(words(_last(node)))
    return bool(spoken & {"pad", "padding"}) and not spoken & {"mask"}


def _of_call(index: Index, function: Function, call: ast.Call, depth: int) -> tuple[str, bool] | None:
    last = _last(call.func)
    if last in {"tril", "triu"}:
        return _triangle(call, last)
    if last in {"ne", "eq"} and call.args and _is_padding(call.args[-1]):
        return (LOOK if last == "ne" else LEAVE), True
    if isinstance(call.func, ast.Attribute) and dotted(call.func.value) not in {"torch", "np", "numpy"}:
        inner = call.func.value
    else:
        inner = call.args[0] if call.args else call.func
    if last in KEEPING:
        return _marks(index, function, inner, depth - 1)
    if last in TRANSPOSING:
        return _transposed(_marks(index, function, inner, depth - 1))
    return _turned(_marks(index, function, inner, depth - 1)) if last in NEGATING else None


def _triangle(call: ast.Call, last: str) -> tuple[str, bool] | None:
    """A triangle of ones; one of other numbers, as of -inf, is no mark."""
    text = ast.unparse(call)
    return ((LOOK if last == "tril" else LEAVE), False) if "ones" in text else None


def _made(index: Index, function: Function, node: ast.expr) -> ast.expr | None:
    """The one expression that a name or an own attribute is given; a buffer is one."""
    if isinstance(node, ast.Name):
        found = [
            one.value
            for one in own_nodes(function.node, ast.Assign)
            if any(isinstance(target, ast.Name) and target.id == node.id for target in one.targets)
        ]
        return found[0] if len(found) == 1 else None
    if not (isinstance(node, ast.Attribute) and dotted(node.value) == "self" and function.owner is not None):
        return None
    given: list[ast.expr] = []
    for cls in index.lineage(function.owner):
        for method in cls.methods.values():
            given.extend(_given_to(method, node.attr))
    if len(given) == 1 and isinstance(given[0], ast.Name):
        maker = next((one for one in function.owner.methods.values() if one.name == "__init__"), None)
        return _made(index, maker, given[0]) if maker is not None else None
    return given[0] if len(given) == 1 else None


def _given_to(method: Function, name: str) -> Iterator[ast.expr]:
    for node in own_nodes(method.node):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=found)], value=value):
                if found == name:
                    yield value
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=key), value, *_]
            ):
                if key == name:
                    yield value
