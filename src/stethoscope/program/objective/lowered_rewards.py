"""Policy gradients with a sign or a form that makes good actions rarer.

A term of the loss is the log-probability of an action, or its ratio to that of an older policy, times what
the action was worth. It belongs into the loss with a minus, and so does the entropy beside it. A ratio is the
probability of the policy that learns over that of the older one, and of a ratio and the same ratio within
bounds the loss takes the worse.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.signed_terms import Term, assigned, minimised_terms
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.telling_bodies import telling_bodies
from stethoscope.run import Source

# fmt: off
LIKELIHOODS = frozenset({
    "logp", "logps", "logprob", "logprobs", "ratio", "ratios", "logpi", "lp", "lps", "nlp", "rho",
})
WORTHS = frozenset({
    "adv", "advs", "advantage", "advantages", "returns", "ret", "rets", "reward", "rewards", "gae", "g",
    "gt", "return", "td", "delta", "deltas", "r",
})
OTHERWISE = frozenset({
    "cost", "costs", "penalty", "neg", "negative", "loss", "losses", "regret", "kl", "constraint", "minus",
})
# fmt: on
OLDER = frozenset({"old", "older", "behaviour", "behavior", "prev", "previous"})


@dataclass(frozen=True, slots=True, eq=False)
class LoweredReward:
    """A term that is minimised and should be raised; `kind` is "policy", "entropy", "ratio" or "bounds"."""

    source: Source
    node: ast.expr
    backward: tuple[Source, ast.AST]
    kind: str


def lowered_rewards(index: Index) -> Iterator[LoweredReward]:
    """The terms of policy gradients that have the wrong sign."""
    if any("maximize=True" in source.text for source in index.program):
        return
    for function in index.bodies:
        if is_test(function.source):
            continue
        for call, found in minimised_terms(index, function):
            policy = [term for term in found if is_policy(term)]
            for term in policy:
                if term.sign > 0:
                    place = function.source, call
                    yield LoweredReward(term.function.source, term.node, place, "policy")
                    break
            entropies = [term for term in found if _is_entropy(term) and term.sign > 0] if policy else []
            if entropies and all(term.sign < 0 for term in policy):
                term = entropies[0]
                yield LoweredReward(term.function.source, term.node, (function.source, call), "entropy")
    yield from turned_ratios(index)
    yield from better_of_two(index)


def turned_ratios(index: Index) -> Iterator[LoweredReward]:
    """Ratios of the older policy to the one that learns, where an advantage is multiplied with them."""
    for function in telling_bodies(index, lambda text: "adv" in text.lower()):
        for node in own_nodes(function.node, ast.Assign):
            is_ratio = any({"ratio", "ratios", "rho", "r"} & _spoken(target) for target in node.targets)
            inner = _exponent(function, node.value) if is_ratio else None
            is_used = inner is not None and _has_bounds(function) and _weighs(function, node.targets)
            if inner is not None and is_used and _is_older_less_newer(inner):
                yield LoweredReward(function.source, node.value, (function.source, node), "ratio")


def _weighs(function: Function, ratios: list[ast.expr]) -> bool:
    """Whether a ratio is multiplied with what actions were worth."""
    named = {one.id for ratio in ratios for one in all_nodes(ratio, ast.Name)}
    for node in own_nodes(function.node, ast.BinOp):
        spoken = _spoken(node)
        if isinstance(node.op, ast.Mult) and named & spoken:
            given = (value for name in spoken - named for value in assigned(function, name))
            if WORTHS & spoken or any(WORTHS & _spoken(value) for value in given):
                return True
    return False


def _exponent(function: Function, node: ast.expr) -> ast.expr | None:
    """`x` of `torch.exp(x)`, `x.exp()` and a name that was given one difference."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="exp"), args=args):
            inner = args[0] if args else value
            if isinstance(inner, ast.Name):
                given = assigned(function, inner.id)
                return given[0] if len(given) == 1 else None
            return inner
    return None


def _is_older_less_newer(node: ast.expr) -> bool:
    match node:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.BinOp() as inner)
            | ast.Call(func=ast.Attribute(value=ast.BinOp() as inner))
        ):
            return _is_older_less_newer(inner)
        case ast.BinOp(op=ast.Sub(), left=left, right=right):
            sides = _spoken(left), _spoken(right)
            are_likelihoods = all(_says_likelihood(side) for side in sides)
            return are_likelihoods and _says_older(sides[0]) and not _says_older(sides[1])
    return False


def _says_likelihood(spoken: set[str]) -> bool:
    return bool(LIKELIHOODS & spoken or {"log", "prob"} <= spoken or {"log", "probs"} <= spoken)


def _says_older(spoken: set[str]) -> bool:
    return bool(OLDER & spoken)


def _has_bounds(function: Function) -> bool:
    return re.search(r"\b(?:clamp|clip)\w*\(", ast.unparse(function.node)) is not None


def better_of_two(index: Index) -> Iterator[LoweredReward]:
    """The better of a ratio and the same within bounds, where the worse is to be taken."""
    for function in telling_bodies(index, lambda text: "ratio" in text.lower()):
        for call in own_nodes(function.node, ast.Call):
            last = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
            if last not in {"min", "max", "minimum", "maximum"} or len(call.args) != 2:
                continue
            signs = {_surrogate(function, one) for one in call.args}
            wanted = {-1} if last.startswith("min") else {1}
            if signs == wanted and any(_is_bounded(function, one) for one in call.args):
                yield LoweredReward(function.source, call, (function.source, call), "bounds")


def _surrogate(function: Function, node: ast.expr) -> int:
    """The sign of `ratio * advantage`, 0 for anything else."""
    match node:
        case ast.Name(id=name):
            given = assigned(function, name)
            return _surrogate(function, given[0]) if len(given) == 1 else 0
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_surrogate(function, inner)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            sign = 1
            for one in (left, right):
                sign = -sign if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub) else sign
            spoken = _spoken(left) | _spoken(right)
            is_one = spoken & {"ratio", "ratios", "rho"} and spoken & WORTHS and not spoken & OTHERWISE
            return sign if is_one else 0
    return 0


def _is_bounded(function: Function, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        given = assigned(function, node.id)
        return len(given) == 1 and _is_bounded(function, given[0])
    names = (getattr(one.func, "attr", "") for one in all_nodes(node, ast.Call))
    return any(name.startswith(("clamp", "clip")) for name in names) or "clipped" in ast.unparse(node)


def is_policy(term: Term) -> bool:
    """`log_prob * advantage`, in any order."""
    match term.node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if _is_likelihood(term.function, one) and _is_worth(other):
                    return True
    return False


def _is_likelihood(function: Function, node: ast.expr) -> bool:
    spoken = _spoken(node)
    if LIKELIHOODS & spoken or {"log", "prob"} <= spoken or {"log", "probs"} <= spoken:
        return not OTHERWISE & spoken
    if isinstance(node, ast.Name):
        given = assigned(function, node.id)
        if len(given) != 1 or OTHERWISE & spoken or _is_negated(given[0]):
            return False
        return "log_prob" in ast.unparse(given[0])
    return False


def _is_negated(node: ast.expr) -> bool:
    """`-x`, `(-x).mean()`, `-x * y`: a likelihood that carries its minus already."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Call(func=ast.Attribute(value=inner)):
            return _is_negated(inner)
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left):
            return _is_negated(left)
    return False


def _is_worth(node: ast.expr) -> bool:
    spoken = _spoken(node)
    is_turned = isinstance(node, ast.UnaryOp) or any(isinstance(one, ast.UnaryOp) for one in all_nodes(node))
    return bool(WORTHS & spoken) and not OTHERWISE & spoken and not is_turned


def _spoken(node: ast.expr) -> set[str]:
    found: set[str] = set()
    for one in all_nodes(node):
        name = one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
        found.update(words(name))
        found.add(name.lower())
    return found


def _is_entropy(term: Term) -> bool:
    spoken = _spoken(term.node)
    is_other = spoken & {"cross", "target", "loss", "crossentropy"}
    return bool(spoken & {"entropy", "entropies", "ents", "ent"}) and not is_other
