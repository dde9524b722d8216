"""What the names and formulas of one function measure: a likeness, a distance, or a part of a contrast."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from stethoscope.program.index import External, Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import own_nodes

POSITIVE = 1
NEGATIVE = -1
DEPTH = 8  # names and functions looked through from a side of a contrast

# fmt: off
POSITIVE_WORDS = frozenset({
    "pos", "positive", "positives", "chosen", "matched", "matching", "diag", "diagonal", "ap", "win",
    "preferred",
})
NEGATIVE_WORDS = frozenset({
    "neg", "negative", "negatives", "rejected", "mismatched", "hardest", "an", "lose", "impostor",
})
# What is preferred should be scored higher, whatever the score is called.
PREFERENCE = frozenset({"chosen", "rejected", "preferred"})
COSTS = frozenset({"loss", "losses", "nll", "ce", "cost", "costs", "perplexity", "ppl", "penalty", "entropy"})
# A score may be either: what is called so is only believed where its formula is seen.
LIKE = frozenset({
    "sim", "sims", "similarity", "similarities", "cos", "cosine", "logit", "logits", "dot", "affinity",
    "logp", "logps", "logprob", "logprobs", "reward", "rewards", "correlation",
})
UNLIKE = frozenset({"dist", "dists", "distance", "distances", "error", "energy", "norm"})
LIKE_CALLS = frozenset({
    "cosine_similarity", "CosineSimilarity", "matmul", "mm", "bmm", "inner", "dot", "einsum",
})
UNLIKE_CALLS = frozenset({
    "pairwise_distance", "PairwiseDistance", "cdist", "norm", "vector_norm", "mse_loss", "l1_loss", "dist",
})
# Calls that pick or move, and leave what is measured.
PICKING = frozenset({
    "diagonal", "diag", "gather", "amax", "max", "min", "amin", "masked_fill", "masked_fill_", "mean", "sum",
    "where", "squeeze", "unsqueeze", "view", "reshape", "flatten", "float", "t", "transpose", "sqrt", "clamp",
    "masked_select", "index_select", "take_along_dim", "expand", "values", "clamp_min", "to", "topk",
    "fill_diagonal_", "logsumexp", "sort", "triu", "tril",
})
SIZING = frozenset({"pow", "square", "abs", "norm"})
# fmt: on
NUMBERED = re.compile(r"\d+$")


@lru_cache(maxsize=65_536)
def role_named(name: str) -> int:
    """Whether a name says that it is of the pair, or of the others; 0 where it says neither or both."""
    parts = {NUMBERED.sub("", word) for word in words(name)}
    pair, others = bool(parts & POSITIVE_WORDS), bool(parts & NEGATIVE_WORDS)
    return pair - others


class Measures:
    """What the names of one function stand for, read from its text."""

    def __init__(self, index: Index, function: Function) -> None:
        self.index = index
        self.function = function
        self._home = index.module_of(function.source)
        self._defined = definitions(function)

    def definition(self, name: str) -> ast.expr | None:
        """The one expression that gives a name its value."""
        found = self._defined.get(name, [])
        return found[0] if len(found) == 1 else None

    def is_sum(self, name: str) -> bool:
        """Whether a name stands for a difference that holds both sides."""
        value = self.definition(name)
        return (
            role_named(name) == 0 and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)
        )

    def is_weight(self, node: ast.expr) -> bool:
        """Whether a factor only scales: a number, or a name that measures nothing."""
        if isinstance(node, ast.Constant):
            return True
        return dotted(node) is not None and not self.role(node) and not self.measure(node)

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression names a module: `F` in `F.relu(x)`."""
        name = dotted(node)
        if name is None or name.partition(".")[0] in self._defined:
            return False
        return isinstance(self.index.resolve(self._home, name), External | Module)

    def role(self, node: ast.expr, depth: int = DEPTH) -> int:
        """Whether an expression is of the pair or of the others, by its name or as a diagonal."""
        match node:
            case ast.Name(id=name):
                named = role_named(name) or self._role_of_letter(name)
                value = self.definition(name)
                return named or (self.role(value, depth - 1) if value is not None and depth else 0)
            case ast.Attribute(attr=attr):
                return role_named(attr)
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                return role_named(key)
            case ast.Call(func=ast.Attribute(value=base, attr=attr)):
                if attr in {"diagonal", "diag"}:
                    return POSITIVE
                if attr in SIZING and isinstance(base, ast.BinOp) and isinstance(base.op, ast.Sub) and depth:
                    return self._role_of_difference(base, depth - 1)
                if attr in PICKING | SIZING and not self.is_module(base):
                    return self.role(base, depth - 1) if depth else 0
                return self._role_of_arguments(node)
            case ast.Call():
                return self._role_of_arguments(node)
        return 0

    def _role_of_letter(self, name: str) -> int:
        """`p` and `n` of a function of `a`, `p` and `n`."""
        is_triplet = {"a", "p", "n"} <= set(self.function.parameters)
        return {"p": POSITIVE, "n": NEGATIVE}.get(name, 0) if is_triplet else 0

    def _role_of_difference(self, node: ast.BinOp, depth: int) -> int:
        """`(anchor - negative).pow(2)` is of the side that has a role."""
        roles = {self.role(side, depth) for side in (node.left, node.right)} - {0}
        return roles.pop() if len(roles) == 1 else 0

    def _role_of_arguments(self, call: ast.Call) -> int:
        """`distance(anchor, negative)` is of what it is given."""
        roles = {role_named(_called(arg)) for arg in call.args} - {0}
        return roles.pop() if len(roles) == 1 else 0

    def measure(self, node: ast.expr, depth: int = DEPTH) -> int:
        """+1 for a likeness, -1 for a distance, 0 where that is not known."""
        if depth == 0:
            return 0
        match node:
            case ast.Name(id=name):
                value = self.definition(name)
                found = self.measure(value, depth - 1) if value is not None else 0
                return found or _named(name)
            case ast.Attribute(attr=attr):
                return _named(attr)
            case ast.Subscript(value=value, slice=key):
                named = (
                    _named(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else 0
                )
                return named or self.measure(value, depth - 1)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.measure(inner, depth - 1)
            case ast.BinOp(left=ast.Constant(), op=ast.Sub(), right=right):
                return -self.measure(right, depth - 1)
            case ast.BinOp(op=ast.MatMult()):
                return _sign(node)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=right):
                sides = {self.measure(side, depth - 1) for side in (left, right)} - {0}
                return sides.pop() if len(sides) == 1 and isinstance(node.op, ast.Mult | ast.Div) else 0
            case ast.Call():
                return self._of_call(node, depth)
        return 0

    def preference(self, node: ast.expr, depth: int = DEPTH) -> int:
        """+1 for what a network of the program says of something that was chosen or rejected."""
        match node:
            case ast.Name(id=name):
                value = self.definition(name)
                return self.preference(value, depth - 1) if value is not None and depth else 0
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in PICKING:
                return self.preference(inner, depth - 1) if depth else 0
            case ast.Call(func=ast.Name() | ast.Attribute() as func, args=[given, *_]):
                name = (dotted(func) or "").rpartition(".")[2]
                told = set(words(_called(given)))
                said = set(words(dotted(func) or ""))
                is_score = not said & (COSTS | UNLIKE) and not self.index.functions_named(name)
                is_known = self.is_module(func) or (
                    isinstance(func, ast.Attribute) and self.is_module(func.value)
                )
                return int(bool(told & PREFERENCE) and is_score and not is_known)
        return 0

    def _of_call(self, call: ast.Call, depth: int) -> int:
        func = call.func
        name = (func.attr if isinstance(func, ast.Attribute) else dotted(func) or "").rpartition(".")[2]
        if name in LIKE_CALLS:
            return 1
        if name in UNLIKE_CALLS:
            return -1
        receiver = func.value if isinstance(func, ast.Attribute) and not self.is_module(func.value) else None
        if name in {"sum", "mean"} and receiver is not None:
            squared = _is_square(receiver)
            if squared:
                return -1
            if isinstance(receiver, ast.BinOp) and isinstance(receiver.op, ast.Mult):
                return 1  # (a * b).sum(-1)
        if name in PICKING:
            inner = receiver if receiver is not None else (call.args[0] if call.args else None)
            if name == "where" and len(call.args) == 3:
                inner = call.args[1]
            return self.measure(inner, depth - 1) if inner is not None else 0
        targets = self.index.functions_named(name)
        if len(targets) == 1 and depth > 1 and targets[0] is not self.function:
            inside = Measures(self.index, targets[0])
            found = {inside.measure(value, depth - 2) for value in _returns(targets[0])}
            if len(found) == 1 and found != {0}:
                return found.pop()
        return _named(name)


def _called(node: ast.expr) -> str:
    """What a value is called, by a name or under a key."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
    return (dotted(node) or "").rpartition(".")[2]


def _named(name: str) -> int:
    parts = set(words(name))
    like, unlike = bool(parts & LIKE), bool(parts & UNLIKE)
    return like - unlike


def _sign(node: ast.expr) -> int:
    """The sign that is written in front of a product, or of a factor in it."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.MatMult() | ast.Div(), right=right):
            return _sign(left) * _sign(right)
        case ast.UnaryOp(op=ast.USub()):
            return -1
    return 1


def _is_square(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)):
            return True
        case ast.Call(func=ast.Attribute(attr="pow"), args=[*_, ast.Constant(value=2)]):
            return True
        case ast.Call(func=ast.Attribute(attr="square" | "abs")):
            return True
    return False


def _returns(function: Function) -> list[ast.expr]:
    return [node.value for node in own_nodes(function.node, ast.Return) if node.value]


@lru_cache(maxsize=4096)
def definitions(function: Function) -> dict[str, list[ast.expr]]:
    """The expressions that give each name of a function its value."""
    found: dict[str, list[ast.expr]] = {}
    for node in own_nodes(function.node):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _define(target, value, found)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _define(target, value, found)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                found.setdefault(name, []).append(value)
    return found


def _define(target: ast.expr, value: ast.expr, found: dict[str, list[ast.expr]]) -> None:
    match target, value:
        case ast.Name(id=name), _:
            found.setdefault(name, []).append(value)
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for one, piece in zip(names, values, strict=True):
                _define(one, piece, found)
        case ast.Tuple(elts=names), _:
            for one in names:
                if isinstance(one, ast.Name):
                    found.setdefault(one.id, []).append(value)
