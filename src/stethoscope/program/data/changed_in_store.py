"""Samples that a dataset changes where it keeps them: what is drawn the next time was changed before.

`image = self.images[i]` is no copy where the images lie in an array or a list, so `image -= self.mean` and
`sample["image"] = augment(sample["image"])` write into the store.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
# What makes an array or a list that an item of is no copy.
ARRAYS = frozenset({
    "randn", "rand", "zeros", "ones", "full", "randint", "tensor", "from_numpy", "as_tensor", "stack", "cat",
    "array", "asarray", "concatenate", "normal", "standard_normal", "uniform", "random", "load", "linspace",
    "float", "double", "half", "long", "to", "astype", "permute", "reshape", "view", "unsqueeze", "squeeze",
})
LISTS = frozenset({"list", "sorted"})
# What gives back the memory that it is given.
VIEWS = frozenset({
    "from_numpy", "as_tensor", "asarray", "view", "reshape", "permute", "transpose", "squeeze", "unsqueeze",
    "view_as", "flatten", "contiguous", "numpy", "detach", "T",
})
IN_PLACE = frozenset({
    "add_", "sub_", "mul_", "div_", "pow_", "neg_", "exp_", "log_", "sqrt_", "normal_", "uniform_",
    "bernoulli_", "lerp_", "addcmul_", "addcdiv_", "masked_scatter_", "roll_",
})
DRAWS = frozenset({
    "rand", "randn", "randint", "random", "uniform", "normal", "choice", "choices", "sample", "permutation",
    "randperm", "bernoulli", "randrange", "rand_like", "randn_like", "gauss", "integers", "shuffle",
    "standard_normal", "binomial",
})
# Done twice they give what they gave the first time.
CONVERSIONS = frozenset({
    "tensor", "as_tensor", "from_numpy", "array", "asarray", "float", "int", "long", "str", "bool", "to",
    "astype", "copy", "clone", "deepcopy", "len", "torch.tensor", "FloatTensor", "LongTensor", "sorted",
    "contiguous", "list", "tuple", "set", "clip", "clamp", "abs", "strip", "lower", "get", "min", "max",
    "half", "double", "cpu", "cuda", "detach", "numpy", "tolist", "item", "nan_to_num",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class ChangedInStore:
    """A statement that changes a sample, and the one that took it out of the store without a copy."""

    source: Source
    taken: ast.AST
    changed: ast.AST
    store: str
    name: str


def changed_in_store(index: Index) -> Iterator[ChangedInStore]:
    """The changes that a dataset makes to what it keeps whenever an item is asked for."""
    for cls in index.classes:
        getter = cls.methods.get("__getitem__")
        if getter is None or is_test(cls.source):
            continue
        for name, (taken, store) in _taken(cls, getter.node).items():
            changed = min(_changes(getter.node, name), key=lambda node: node.lineno, default=None)
            if changed is not None:
                yield ChangedInStore(cls.source, taken, changed, store, name)


# --- what is taken out -----------------------------------------------------------------------------------


def _taken(cls: Class, getter: FunctionNode) -> dict[str, tuple[ast.AST, str]]:
    """The names of a getter that stand for something in the store, and never for anything else."""
    found: dict[str, tuple[ast.AST, str]] = {}
    assigned: dict[str, int] = {}
    for node in own_nodes(getter):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        names = _names(node.targets[0])
        for name in names:
            assigned[name] = assigned.get(name, 0) + 1
        store = _store(cls, _behind_views(node.value))
        if store:
            found.update(dict.fromkeys(names, (node, store)))
    return {name: one for name, one in found.items() if assigned[name] == 1}


def _names(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _behind_views(value: ast.expr) -> ast.expr:
    """`torch.from_numpy(self.images[i]).permute(2, 0, 1)` is the memory of `self.images[i]`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS:
        of_module = dotted(value.func.value) in {"torch", "np", "numpy"}
        if of_module and not value.args:
            break
        value = value.args[0] if of_module else value.func.value
    return value


def _store(cls: Class, value: ast.expr) -> str:
    """The attribute that a value is an item of, where items of it are no copies; "" for all else."""
    while isinstance(value, ast.Subscript) and isinstance(value.value, ast.Subscript):
        value = value.value  # self.items[i]["image"]
    if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Name | ast.BinOp):
        return ""
    of = value.value
    if not (isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.value.id == "self"):
        return ""
    return f"self.{of.attr}" if _is_kept_whole(cls, of.attr) else ""


def _is_kept_whole(cls: Class, attribute: str) -> bool:
    """Whether everything that the class assigns to an attribute is a list or an array in memory."""
    given = [value for value in _assigned(cls, attribute) if value is not None]
    return bool(given) and all(map(_is_whole, given))


def _assigned(cls: Class, attribute: str) -> Iterator[ast.expr | None]:
    for method in cls.methods.values():
        for node in own_nodes(method.node):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and ast.unparse(target) == f"self.{attribute}":
                        yield node.value
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == f"self.{attribute}":
                yield node.value


def _is_whole(value: ast.expr) -> bool:
    if isinstance(value, ast.List | ast.ListComp):
        return True
    if isinstance(value, ast.BinOp):
        return _is_whole(value.left) or _is_whole(value.right)
    if not isinstance(value, ast.Call) or any(keyword.arg == "mmap_mode" for keyword in value.keywords):
        return False
    return _called(value) in ARRAYS | LISTS


def _called(call: ast.Call) -> str:
    """The last part of the name that is called."""
    return str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))


# --- what changes it -------------------------------------------------------------------------------------


def _changes(getter: FunctionNode, name: str) -> Iterator[ast.stmt | ast.expr]:
    """The statements that change what a name stands for, in a way that is not the same when done twice."""
    drawn = _drawn(getter)
    for node in own_nodes(getter):
        match node:
            case ast.AugAssign(target=ast.Subscript(value=inner)) if _is(inner, name):
                yield node
            case ast.AugAssign(target=ast.Name(id=changed)) if changed == name and _is_array(getter, name):
                yield node
            case ast.Assign(targets=[ast.Subscript(value=inner, slice=at)], value=value) if _is(inner, name):
                if _draws(at, drawn) or _draws(value, drawn) or _comes_from_itself(value, node.targets[0]):
                    yield node
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if _is(inner, name):
                if method in IN_PLACE:
                    yield node
            case ast.Call(func=ast.Attribute(attr="shuffle"), args=[inner]) if _is(inner, name):
                yield node


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_array(getter: FunctionNode, name: str) -> bool:
    """Whether a name is used as only an array can be: a number that is changed is a new number."""
    for node in all_nodes(getter):
        if isinstance(node, ast.Attribute) and _is(node.value, name):
            return True
        if isinstance(node, ast.Subscript) and _is(node.value, name):
            return True
        is_shared = isinstance(node, ast.Call) and _called(node) in {"from_numpy", "as_tensor"}
        if is_shared and any(_is(argument, name) for argument in getattr(node, "args", ())):
            return True
    return False


def _drawn(getter: FunctionNode) -> set[str]:
    """The names that a getter gives something drawn at random."""
    return {
        name
        for node in own_nodes(getter, ast.Assign)
        if _draws(node.value, set())
        for target in node.targets
        for name in _names(target)
    }


def _draws(node: ast.expr, drawn: set[str]) -> bool:
    for inner in all_nodes(node):
        if isinstance(inner, ast.Name) and inner.id in drawn:
            return True
        if isinstance(inner, ast.Call) and _called(inner) in DRAWS:
            return True
    return False


def _comes_from_itself(value: ast.expr, target: ast.expr) -> bool:
    """`sample["image"] = self.augment(sample["image"])`, and not `sample["label"] = int(sample["label"])`."""
    text = ast.unparse(target)
    names = [_called(node) for node in all_nodes(value, ast.Call)]
    reads = any(isinstance(node, ast.Subscript) and ast.unparse(node) == text for node in all_nodes(value))
    computes = any(isinstance(node, ast.BinOp) for node in all_nodes(value))
    return reads and (computes or any(name not in CONVERSIONS for name in names))
