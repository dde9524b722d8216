"""Policy gradients with a sign that makes good actions rarer.

A term of the loss is the log-probability of an action, or its ratio to that of an older policy, times what
the action was worth. It belongs into the loss with a minus, and so does the entropy beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.signed_terms import Term, assigned, minimised_terms
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
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
DEPTH = 3


@dataclass(frozen=True, slots=True, eq=False)
class LoweredReward:
    """A term that is minimised and should be raised; `kind` is "policy" or "entropy"."""

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
        return len(given) == 1 and "log_prob" in ast.unparse(given[0])
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
