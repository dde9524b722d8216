"""Dropout that evaluation mode does not switch off.

`F.dropout` drops unless it is told otherwise; a layer that is made where it is used is always in training
mode; attention drops whatever it is given as `dropout_p`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.settings.said_numbers import said
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

FUNCTIONS = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"})
LAYERS = frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"})
TRAINING_PLACE = 2  # of `F.dropout(input, p, training)`
# Of what is meant to drop at all times, or is run in training only.
MEANT = frozenset({
    "mc", "monte", "bayes", "bayesian", "uncertainty", "stochastic", "augment", "augmentation", "perturb",
    "corrupt", "corruption", "noise", "training", "loss", "losses", "ensemble", "augmenter", "prenet",
    "discriminator", "critic",
})  # fmt: skip
_MEANT_TEXT = re.compile(
    r"(?i)monte.?carlo|mc.?dropout|bayesian|always (on|active|drop)|even (in|at|during) (eval|test|infer)"
)


@dataclass(frozen=True, slots=True, eq=False)
class LastingDropout:
    """A dropout that is always on; `kind` is "function", "layer" or "attention"."""

    source: Source
    node: ast.Call
    kind: str


def lasting_dropouts(index: Index) -> Iterator[LastingDropout]:
    """The dropouts of the networks of a program that nothing switches off."""
    for cls in index.classes:
        if is_test(cls.source) or "ropout" not in cls.source.text or not _is_module(index, cls):
            continue
        if MEANT.intersection(words(cls.name)) or _MEANT_TEXT.search(_text(cls.source, cls.node)):
            continue
        for method in cls.methods.values():
            if not MEANT.intersection(words(method.name)) and method.name != "__init__":
                yield from _in_method(index, method)


def _is_module(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2] in {"Module", "LightningModule"} for base in index.outside_bases(cls))


def _text(source: Source, node: ast.AST) -> str:
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    return "\n".join(source.text.split("\n")[first - 1 : last])


def _in_method(index: Index, method: Function) -> Iterator[LastingDropout]:
    guarded = set(_guarded(method))
    for call in own_nodes(method.node, ast.Call):
        if id(call) in guarded:
            continue
        kind = _kind(index, method, call)
        if kind:
            yield LastingDropout(method.source, call, kind)


def _guarded(method: Function) -> Iterator[int]:
    """What a condition stands around that asks for more than whether the rate is above zero."""
    for node in own_nodes(method.node):
        if isinstance(node, ast.If | ast.IfExp) and not _asks_for_rate(node.test):
            yield from (id(one) for one in all_nodes(node))
    for place, statement in enumerate(method.node.body):
        if _leaves_in_evaluation(statement):
            yield from (id(one) for later in method.node.body[place:] for one in all_nodes(later))


def _leaves_in_evaluation(statement: ast.stmt) -> bool:
    """`if not self.training: return x`: what comes behind is for training."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.body[-1], ast.Return)
        and any(one.attr == "training" for one in all_nodes(statement.test, ast.Attribute))
    )


def _asks_for_rate(test: ast.expr) -> bool:
    """`rate > 0`, `rate`: the mode has no part in it."""
    if isinstance(test, ast.Compare):
        return all(isinstance(one, ast.Constant) for one in test.comparators) and _asks_for_rate(test.left)
    return "drop" in (dotted(test) or "").lower()


def _kind(index: Index, method: Function, call: ast.Call) -> str:
    name = dotted(call.func) or ""
    last = name.rpartition(".")[2]
    if any(word.arg is None for word in call.keywords):
        return ""
    given = {word.arg: word.value for word in call.keywords}
    if last in FUNCTIONS and _is_functional(index, method, name):
        mode = given.get("training") or _at(call, TRAINING_PLACE)
        rate = given.get("p") or _at(call, 1)
        is_on = mode is None or (isinstance(mode, ast.Constant) and mode.value is True)
        return "function" if is_on and _drops(index, method, rate) else ""
    if last == "scaled_dot_product_attention":
        rate = given.get("dropout_p") or _at(call, 4)
        return "attention" if rate is not None and _drops(index, method, rate) else ""
    if isinstance(call.func, ast.Call) and _is_layer(index, method, call.func):
        return "layer"
    return ""


def _at(call: ast.Call, place: int) -> ast.expr | None:
    return call.args[place] if len(call.args) > place else None


def _is_functional(index: Index, method: Function, name: str) -> bool:
    """`F.dropout`, `nn.functional.dropout`: torch's own, by what is imported."""
    return _imported(index, method, name).rpartition(".")[0] in {"torch.nn.functional", "torch"}


def _imported(index: Index, method: Function, name: str) -> str:
    head, _, rest = name.partition(".")
    full = index.module_of(method.source).imports.get(head, head)
    return f"{full}.{rest}" if rest else full


def _is_layer(index: Index, method: Function, made: ast.Call) -> bool:
    """`nn.Dropout(rate)` of torch: those of other libraries are told the mode where they are called."""
    name = dotted(made.func) or ""
    full = _imported(index, method, name)
    is_torch = full.startswith("torch.") or full == name  # what a star import brings is not known
    if name.rpartition(".")[2] not in LAYERS or not is_torch:
        return False
    rate = made.args[0] if made.args else next((w.value for w in made.keywords if w.arg == "p"), None)
    return _drops(index, method, rate)


def _drops(index: Index, method: Function, rate: ast.expr | None) -> bool:
    """Whether a rate is above zero in any mode; the default is a half."""
    if rate is None:
        return True
    known = said(index, method, rate)
    if {"training", "train", "eval", "inference"} & known.words or known.numbers == {0.0}:
        return False
    if any("train" in ast.unparse(value) for value in _assigned(index, method, rate)):
        return False
    name = dotted(rate) or ""
    return isinstance(rate, ast.Constant) or (bool(name) and name.removeprefix("self.").isidentifier())


def _assigned(index: Index, method: Function, rate: ast.expr) -> Iterator[ast.expr]:
    """What a name or an own attribute is ever given."""
    name = (dotted(rate) or "").rpartition(".")[2]
    methods = (
        [one for cls in index.lineage(method.owner) for one in cls.methods.values()] if method.owner else []
    )
    for one in methods:
        if one.name == name or (one.name in {"train", "eval"} and name):
            yield ast.Name(id="training")  # a property, or a mode that is set by hand
        for node in own_nodes(one.node, ast.Assign):
            if any((dotted(target) or "").rpartition(".")[2] == name for target in node.targets):
                yield node.value
