"""Draws that no gradient goes through, where a network goes on from what was drawn: `z = q.sample()`.

`sample` of torch distributions runs under no_grad, `rsample` does not. What is drawn from the outputs of one
network and goes into another is the middle of a model, unless the draw is scored by its log-probability.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.telling_bodies import telling_bodies
from stethoscope.run import Source

REPARAMETRISED = frozenset({
    "Normal", "MultivariateNormal", "LowRankMultivariateNormal", "LogNormal", "Laplace", "Gumbel", "StudentT",
    "Independent", "TransformedDistribution", "RelaxedOneHotCategorical", "RelaxedBernoulli",
})  # fmt: skip
VARIATIONAL = re.compile(r"(?i)\bkl|kl\b|_kl|kl_|elbo|variational|posterior")
SCORED = ("log_prob", "rsample", "reinforce")
STEPS = frozenset({"forward", "training_step", "loss", "compute_loss", "elbo", "loss_fn", "step", "_step"})
NO_NETWORK = ("torch.", "F.", "nn.", "np.", "math.", "numpy.", "super.")


@dataclass(frozen=True, slots=True, eq=False)
class BareDraw:
    """The draw, and the call of a network that is given what was drawn."""

    source: Source
    draw: ast.Call
    use: ast.Call


@remembered
def bare_draws(index: Index) -> tuple[BareDraw, ...]:
    """Every draw without gradients between two networks of a variational model."""
    return tuple(
        BareDraw(source, draw, use)
        for body in telling_bodies(index, _is_of_model)
        if _may_train(body) and not _is_without_gradients(body)
        for given, draw, source in _draws(index, body)
        if (use := _use(body, given)) is not None
    )


def _may_train(body: Function) -> bool:
    return body.name in STEPS or ".backward(" in ast.unparse(body.node)


def _is_of_model(text: str) -> bool:
    """Whether a file draws, scores no draw, and speaks of what variational models have."""
    draws = ".sample(" in text and not any(word in text for word in SCORED)
    return draws and VARIATIONAL.search(text) is not None


def _is_without_gradients(body: Function) -> bool:
    """Whether a body, or a block of it, computes without gradients."""
    return any(word in ast.unparse(body.node) for word in ("no_grad", "inference_mode", "set_grad_enabled"))


# What is drawn


def _draws(index: Index, body: Function) -> Iterator[tuple[ast.Call, ast.Call, Source]]:
    """The draws of a body from what a network gave: the call that gives it, the draw itself, and its file."""
    given = _of_networks(body)
    for call in own_nodes(body.node, ast.Call):
        if _is_drawn_from(body, call, given) or _is_drawn_from_method(index, body, call):
            yield call, call, body.source
        helper = _own_method(index, body, call)
        if helper is not None and given & _names_of_arguments(call):
            for drawn in _given_back(helper):
                yield call, drawn, helper.source


def _is_drawn_from(body: Function, call: ast.Call, names: set[str]) -> bool:
    """Whether a call draws from a distribution that is made of some of these names."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "sample":
        return False
    made = _made(body, call.func.value)
    return made is not None and bool(_names(made) & names)


def _is_drawn_from_method(index: Index, body: Function, call: ast.Call) -> bool:
    """Whether a call draws from what a method of the class makes of a network's outputs: `self.encode(x)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "sample":
        return False
    drawn = dotted(call.func.value)
    made = [value for target, value in _assigned(body) if target == drawn]
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return False
    method = _own_method(index, body, made[0])
    if method is None or _is_without_gradients(method):
        return False
    given = _of_networks(method)
    returned = [node.value for node in own_nodes(method.node, ast.Return)]
    return len(returned) == 1 and any(
        bare_name(one) in REPARAMETRISED and bool(_names(one) & given)
        for one in returned
        if isinstance(one, ast.Call)
    )


def _own_method(index: Index, body: Function, call: ast.Call) -> Function | None:
    name = dotted(call.func) or ""
    if body.owner is None or not name.startswith("self."):
        return None
    return index.method(body.owner, name.removeprefix("self."))


def _given_back(helper: Function) -> Iterator[ast.Call]:
    """The draw from its parameters that a method gives back: `return Normal(mean, spread).sample()`."""
    if _is_without_gradients(helper):
        return
    made_of = set(helper.parameters)
    for target, value in _assigned(helper):
        if _names(value) & made_of - {"self"}:
            made_of.add(target)
    drawn = {target: value for target, value in _assigned(helper) if isinstance(value, ast.Call)}
    for node in own_nodes(helper.node, ast.Return):
        named = dotted(node.value) if node.value is not None else None
        back = drawn[named] if named is not None and named in drawn else node.value
        if isinstance(back, ast.Call) and _is_drawn_from(helper, back, made_of - {"self"}):
            yield back


def _names_of_arguments(call: ast.Call) -> set[str]:
    return {name for one in (*call.args, *(word.value for word in call.keywords)) for name in _names(one)}


def _made(body: Function, node: ast.expr) -> ast.Call | None:
    """The call that makes a distribution, where it is one that gradients could go through."""
    if isinstance(node, ast.Call):
        return node if bare_name(node) in REPARAMETRISED else None
    made = [value for target, value in _assigned(body) if target == dotted(node)]
    return _made(body, made[0]) if len(made) == 1 and isinstance(made[0], ast.Call) else None


def _of_networks(body: Function) -> set[str]:
    """The names whose values come out of a network that the body runs."""
    found: set[str] = set()
    for target, value in _assigned(body):
        runs = any(_is_network_call(call) for call in all_nodes(value, ast.Call))
        if runs or _names(value) & found:
            found.add(target)
    return found


def _is_network_call(call: ast.Call) -> bool:
    """Whether a call may run a network: of an attribute or a variable, and not of a library or of Python."""
    name = dotted(call.func)
    if name is None or not call.args or name.startswith(NO_NETWORK):
        return False
    return name.startswith("self.") or (
        name.isidentifier() and not hasattr(builtins, name) and name[0].islower()
    )


# What becomes of it


def _use(body: Function, draw: ast.Call) -> ast.Call | None:
    """The call of a network that a draw goes into, by way of any names."""
    reached = {target for target, value in _assigned(body) if _holds(value, draw)}
    for target, value in _assigned(body):
        if _names(value) & reached and not any(_is_network_call(c) for c in all_nodes(value, ast.Call)):
            reached.add(target)
    for call in own_nodes(body.node, ast.Call):
        if _is_network_call(call) and any(_names(one) & reached or _holds(one, draw) for one in call.args):
            return call
    return None


def _holds(tree: ast.AST, node: ast.AST) -> bool:
    return any(one is node for one in all_nodes(tree, ast.Call))


def _assigned(body: Function) -> Iterator[tuple[str, ast.expr]]:
    """The names of a body with what they are given, in order; all of a tuple are given the whole."""
    for node in own_nodes(body.node, ast.Assign):
        for target in node.targets:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from ((name, node.value) for one in targets if (name := dotted(one)) is not None)


def _names(node: ast.AST) -> set[str]:
    named = (dotted(one) for one in all_nodes(node, ast.Name, ast.Attribute))
    return {name for name in named if name is not None}
