"""Actors that are taught to do what their critic thinks least of, tried on numbers.

A critic is held to rewards and what follows them; an actor hands its action to that critic and learns from
the answer. The actor's loss is computed with a larger and a smaller answer: where it rises with the answer,
training lowers what actions are worth.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import ATTACK, words
from stethoscope.program.objective.lowered_rewards import OTHERWISE
from stethoscope.program.objective.opposed_sides import PushedPass, pushed_passes
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Site, Value
from stethoscope.run import Source

REWARDS = frozenset({"r", "rew", "rews", "reward", "rewards"})
DISCOUNTS = frozenset({"gamma", "discount"})
LEAST_DISCOUNT = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class LoweredWorth:
    """A critic's answer to an actor, which the actor's loss lowers."""

    answer: Site
    sink: Site


@remembered
def lowered_worths(index: Index, settings: SettingsTree) -> tuple[LoweredWorth, ...]:
    """The actors of a program that learn to do the worst."""
    if any("maximize=True" in source.text for source in index.program):
        return ()
    found = [one for one in minimised(index, settings) if _may_be_judged(one)]
    passes = [(one, _passes(one)) for one in found]
    asked = [(each.network, _is_played(one, each)) for one, all_of in passes for each in all_of]
    # A critic judges what was done, and elsewhere what an actor would do.
    critics = {network for network, is_played in asked if not is_played} & {
        network for network, is_played in asked if is_played
    }
    lowered: dict[int, LoweredWorth] = {}
    for one, all_of in passes:
        answers = [each for each in all_of if each.network in critics]
        if answers and all(_is_played(one, each) and each.way < 0 for each in answers):
            lowered[id(one.sink.site.node)] = LoweredWorth(answers[0].site, one.sink.site)
    return tuple(lowered.values())


def _may_be_judged(one: Minimised) -> bool:
    source = one.sink.site.source
    said = " ".join(function.spoken for function in one.sink.within)
    return not is_test(source) and not ATTACK.search(said) and _counts_on_rewards(source)


def _counts_on_rewards(source: Source) -> bool:
    """Whether `reward + discount * worth` is written in a file, and nowhere what is to be lowered."""
    for node in all_nodes(source.tree, ast.BinOp):
        if not isinstance(node.op, ast.Add) or OTHERWISE & _spoken(node):
            continue
        for reward, worth in ((node.left, node.right), (node.right, node.left)):
            if isinstance(reward, ast.UnaryOp) or not REWARDS & _spoken(reward):
                continue
            if isinstance(worth, ast.BinOp) and isinstance(worth.op, ast.Mult) and _is_discounted(worth):
                return True
    return False


def _is_discounted(worth: ast.BinOp) -> bool:
    numbers = [one.value for one in all_nodes(worth, ast.Constant)]
    is_number = any(isinstance(one, float) and LEAST_DISCOUNT <= one < 1 for one in numbers)
    return is_number or bool(DISCOUNTS & _spoken(worth))


def _spoken(node: ast.AST) -> set[str]:
    names = (str(getattr(one, "id", None) or getattr(one, "attr", "")) for one in all_nodes(node))
    return {word for name in names for word in words(name)}


def _passes(one: Minimised) -> list[PushedPass]:
    allow_reading(one.run)
    try:
        with warnings.catch_warnings():  # shapes that fit in no way
            warnings.simplefilter("ignore")
            return list(pushed_passes(one))
    except (Exhausted, RecursionError):
        return []


def _is_played(one: Minimised, each: PushedPass) -> bool:
    """Whether what is judged is made by a network that learns from it."""
    return any(_learns(one, given) for given in _given(each))


def _given(each: PushedPass) -> Iterator[Value]:
    made = each.made
    yield from made.args[1:] if isinstance(made, Applied) and made.callee == "()" else made.args
    yield from made.keywords.values()


def _learns(one: Minimised, given: Value) -> bool:
    return comes_from_model(one.run, given, detached_counts=False) and id(given) not in one.run.unrecorded
