"""Losses of preferences tried on numbers: is it cheaper where the chosen answer scores higher?

Rewards and log-probabilities of a chosen and a rejected answer are known by their names. Whatever the loss
makes of them, by a logistic function, a hinge or a square, and through whichever names, is computed twice:
with the chosen answer far ahead, and with the rejected one.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.things import Array, Routine
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.bounded_arrays import CannotCompute
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.telling_bodies import telling_bodies
from stethoscope.program.walk.values import Site
from stethoscope.program.weights.numbers import number
from stethoscope.run import Source

# fmt: off
CHOSEN = frozenset({"chosen", "preferred", "winner", "winning", "accepted", "better", "good"})
REJECTED = frozenset({"rejected", "dispreferred", "loser", "losing", "worse", "bad"})
# What stands beside the network that is trained, and is not moved.
BESIDE = frozenset({"ref", "reference", "old", "init", "initial", "base", "sft", "frozen"})
# Scores that are better the lower they are, and what is no score.
LOW_OR_NONE = frozenset({
    "loss", "losses", "nll", "ce", "distance", "dist", "energy", "cost", "error", "ids", "mask", "labels",
    "tokens", "len", "length", "lengths", "text", "texts", "prompt", "perplexity", "ppl", "batch", "inputs",
})
LOSSES = frozenset({"loss", "losses", "objective"})
SMALL = frozenset({"smoothing", "eps", "epsilon", "noise", "margin", "gamma", "alpha", "lambda", "coef"})
# fmt: on
AHEAD: Array = np.array([2.0, 1.0, 3.0])


@dataclass(frozen=True, slots=True, eq=False)
class TurnedPreference:
    """A loss that is lower where the rejected answer scores higher, and what it was in both cases."""

    site: Site
    chosen_ahead: float
    rejected_ahead: float


@remembered
def turned_preferences(index: Index) -> tuple[TurnedPreference, ...]:
    """The losses of a program that prefer what was rejected."""
    speaking = telling_bodies(index, lambda text: any(word in text for word in REJECTED))
    found = (one for function in speaking for one in _of_function(index, function))
    return tuple({id(one.site.node): one for one in found}.values())


def _of_function(index: Index, function: Function) -> Iterator[TurnedPreference]:
    for loss in _losses(function):
        trial = _trial(function, loss)
        if trial is None:
            continue
        costs = [_cost(index, function, trial, ahead) for ahead in (AHEAD, -AHEAD)]
        if costs[0] is not None and costs[1] is not None and costs[0] > costs[1] + 1e-6:
            yield TurnedPreference(Site(function.source, loss), costs[0], costs[1])


def _losses(function: Function) -> Iterator[ast.expr]:
    """What a function calls a loss, or gives back as one."""
    for node in own_nodes(function.node, ast.Assign, ast.Return):
        match node:
            case ast.Assign(targets=[target], value=value) if LOSSES & set(words(_last(target))):
                yield value
            case ast.Return(value=ast.Tuple(elts=[value, *_])) | ast.Return(value=ast.expr() as value):
                if LOSSES & set(words(function.name)) or _is_cost(value):
                    yield value


def _is_cost(value: ast.expr) -> bool:
    """`softplus(..)`, `-logsigmoid(..)`: what nobody gives back but to minimise it."""
    called = {bare_name(one) for one in ast.walk(value) if isinstance(one, ast.Call)}
    negated = any(isinstance(one, ast.USub) for one in ast.walk(value))
    return "softplus" in called or ("logsigmoid" in called and negated)


def _last(node: ast.AST) -> str:
    return (dotted(node) or "").rpartition(".")[2]


# The trial


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """A function of numbers that gives the loss; the role of each parameter by its name."""

    node: ast.FunctionDef
    given: dict[str, str]


def _trial(function: Function, loss: ast.expr) -> _Trial | None:
    """The statements that a loss is made from, with what they do not make as parameters."""
    outside = _imported(function.source)
    naming = _Naming(outside)
    wanted = naming.visit(copy.deepcopy(loss))
    statements: list[ast.stmt] = []
    assigned = own_nodes(function.node, ast.Assign)
    for node in sorted(assigned, key=_place, reverse=True):
        if _place(node) >= _place(loss) or any(one is loss for one in ast.walk(node)):
            continue
        stored = {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        if not stored & _read(wanted, statements) or any(map(_role, stored)):
            continue
        statements.insert(0, naming.visit(copy.deepcopy(node)))
    made = {
        one.id
        for statement in statements
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    names = sorted(_read(wanted, statements) - made - outside)
    given = {name: _role(naming.written.get(name, name)) for name in names}
    if not {"chosen", "rejected"} <= set(given.values()):
        return None
    made_up = ast.parse(f"def trial({', '.join(names)}): ...").body[0]
    assert isinstance(made_up, ast.FunctionDef)
    made_up.body = [*statements, ast.Return(wanted)]
    return _Trial(ast.fix_missing_locations(made_up), given)


def _place(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _read(wanted: ast.AST, statements: Sequence[ast.stmt]) -> set[str]:
    nodes = (one for tree in (wanted, *statements) for one in ast.walk(tree))
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


@remembered
def _imported(source: Source) -> frozenset[str]:
    """The names that a file imports: libraries, their modules and functions."""
    imports = (node for node in all_nodes(source.tree) if isinstance(node, ast.Import | ast.ImportFrom))
    found = (one for node in imports for one in node.names)
    return frozenset(one.asname or one.name.partition(".")[0] for one in found)


class _Naming(ast.NodeTransformer):
    """Gives what is read out of objects and batches names of its own: `self.beta`, `batch["chosen"]`."""

    def __init__(self, outside: frozenset[str]) -> None:
        self.outside = outside
        self.written: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The function that is called keeps its name."""
        if isinstance(node.func, ast.Attribute):
            root = node.func.value
            if (dotted(root) or "").partition(".")[0] not in self.outside:
                node.func.value = self.visit(root)
        node.args = [self.visit(one) for one in node.args]
        for word in node.keywords:
            word.value = self.visit(word.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A setting or a field."""
        name = dotted(node)
        if name is None or name.partition(".")[0] in self.outside or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return self._own(name.rpartition(".")[2])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An entry of a table."""
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._own(node.slice.value)
        return self.generic_visit(node)

    def _own(self, written: str) -> ast.Name:
        name = "own_" + "".join(letter if letter.isalnum() else "_" for letter in written)
        self.written[name] = written
        return ast.Name(name, ast.Load())


def _role(name: str) -> str:
    spoken = set(words(name))
    if spoken & LOW_OR_NONE:
        return ""
    role = "chosen" if spoken & CHOSEN else "rejected" if spoken & REJECTED else ""
    return "beside" if role and spoken & BESIDE else role


def _cost(index: Index, function: Function, trial: _Trial, ahead: Array) -> float | None:
    """What the loss is with the chosen answer ahead by so much."""
    run = Interpreter(index)
    given = {name: _number(function, name, role, ahead) for name, role in trial.given.items()}
    routine = Routine(trial.node, index.module_of(function.source))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numpy says of a stranger's shapes is no news for the user
            result = run.call(routine, (), given)
    except (CannotCompute, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None
    found = np.asarray(result, dtype=np.float64) if isinstance(result, float | int | np.ndarray) else None
    if found is None or not found.size or not np.isfinite(found).all():
        return None
    return float(found.mean())


def _number(function: Function, name: str, role: str, ahead: Array) -> Array | float:
    match role:
        case "chosen":
            return ahead
        case "rejected":
            return -ahead
        case "beside":
            return np.zeros_like(ahead)
    return _default(function, name) or (0.01 if SMALL & set(words(name)) else 0.5)


def _default(function: Function, name: str) -> float | None:
    spec = function.node.args
    args = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(args[len(args) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return next((number(default) for arg, default in pairs if arg.arg == name), None)
