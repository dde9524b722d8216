"""Targets that are a reward and the discounted worth of what follows, and what is left out of them.

`reward + gamma * value(next_state)` counts on nothing after the end of an episode, so it needs to know where
one ends. It is an answer and not a prediction, so no gradient belongs into it. The worth of an action beside
its log-probability is such an answer, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.objective.lowered_rewards import WORTHS, is_policy
from stethoscope.program.objective.signed_terms import Term, assigned, minimised_terms
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.telling_bodies import telling_bodies
from stethoscope.run import Source

# fmt: off
REWARDS = frozenset({"r", "rew", "rews", "reward", "rewards"})
DISCOUNTS = frozenset({"gamma", "discount"})
ENDS = frozenset({
    "d", "done", "dones", "term", "terminal", "terminals", "terminated", "nonterminal", "nonterminals",
    "notdone",
})
SAID_ENDS = frozenset({"done", "dones", "terminal", "terminals", "terminated"})
SHORT_ENDS = frozenset({"d", "ds", "term", "terms"})  # said in full where they are stored
STORING = frozenset({"push", "add", "append", "store", "put", "remember", "insert", "record", "save"})
TURNING = frozenset({"logical_not", "where", "masked_fill", "masked_fill_", "rsub", "logical_xor"})
# A bootstrap may be told of the ends under these names, too.
LEFT_OF_EPISODE = frozenset({
    "mask", "masks", "alive", "continue", "continues", "cont", "live", "valid", "final", "truncated",
    "truncation", "truncations", "not", "where",
})
NETWORKS = frozenset({
    "net", "network", "critic", "value", "values", "q", "qnet", "qf", "model", "policy", "agent", "online",
})
CUTTING = ("detach", "no_grad", "item", "numpy", "stop_gradient", "inference_mode", ".data")
# fmt: on
DEPTH = 4
LEAST_STORED = 4  # a state, an action, a reward and the end


@dataclass(frozen=True, slots=True, eq=False)
class EndlessTarget:
    """A target that goes on past the end of episodes, and the name of the ends that nothing looks at."""

    source: Source
    target: ast.expr
    ends: str
    is_turned: bool = False  # it counts on what follows where an episode ends, and only there


@dataclass(frozen=True, slots=True, eq=False)
class LearntAnswer:
    """An answer that gradients flow into: where it is written, and what it shares with the prediction."""

    source: Source
    answer: ast.expr
    shared: str
    kind: str


def endless_targets(index: Index) -> Iterator[EndlessTarget]:
    """The bootstraps of functions that are told where episodes end, and do not look."""
    if not any("backward(" in source.text or "training_step" in source.text for source in index.program):
        return  # what is written into a table stays zero behind an end
    yield from _turned_ends(index)
    for function in telling_bodies(index, _speaks_of_discounts):
        ends = _ends_bound(function)
        targets = [one for one in _bootstraps(function) if not _is_told(function, one)] if ends else []
        if targets and not _ends_read(function, ends):
            yield EndlessTarget(function.source, targets[0], min(ends))


def _turned_ends(index: Index) -> Iterator[EndlessTarget]:
    """Worths that are multiplied with the ends themselves, in programs that nowhere turn an end round."""
    sources = [source for source in index.program if not is_test(source)]
    if any(_turns_ends(node) for source in sources for node in all_nodes(source.tree)):
        return
    are_stored = any(_stores_ends(node) for source in sources for node in all_nodes(source.tree, ast.Call))
    for function in telling_bodies(index, _speaks_of_discounts):
        for target in _bootstraps(function):
            for factor in _factors(target):
                given = assigned(function, factor.id) if isinstance(factor, ast.Name) else []
                ends = given[0] if len(given) == 1 else factor
                is_short = are_stored and isinstance(factor, ast.Name) and factor.id in SHORT_ENDS
                if is_short or _is_plain_end(factor) or (len(given) == 1 and _is_plain_end(ends)):
                    yield EndlessTarget(function.source, target, ast.unparse(factor), is_turned=True)
                    break


def _stores_ends(call: ast.Call) -> bool:
    """`memory.push(state, action, reward, next_state, terminated)`: the ends are kept as they come."""
    last = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
    tuples = [one.elts for one in call.args if isinstance(one, ast.Tuple)]
    kept = [*call.args, *(one for parts in tuples for one in parts)]
    names = [one.id for one in kept if isinstance(one, ast.Name)]
    ends = [name for name in names if {"term", *SAID_ENDS} & set(words(name)) and "not" not in words(name)]
    return bool(STORING & set(words(last)) and ends and len(kept) >= LEAST_STORED)


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """What is multiplied in the addends of a sum."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            for side in (left, right):
                yield from _factors(side) if isinstance(side, ast.BinOp) else (side,)
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            for side in (left, right):
                yield from _factors(side) if isinstance(side, ast.BinOp) else ()


def _is_plain_end(node: ast.expr) -> bool:
    """`dones`, `self.done[t]`, `batch["terminated"].float()`: an end, and nothing that says it is turned."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    spoken = _spoken(node)
    is_plain = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    said = "".join(sorted(spoken))
    return is_plain and bool(spoken & SAID_ENDS) and not spoken & LEFT_OF_EPISODE and "not" not in said


def _turns_ends(node: ast.AST) -> bool:
    """`1 - done`, `not done`, `~done`, `done == 0`, `0 if done else 1`, `where(done, ...)`."""
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Constant() | ast.Call(), right=right):
            return bool((SAID_ENDS | SHORT_ENDS) & _spoken(right))
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return bool(SAID_ENDS & _spoken(operand))
        case ast.Compare(left=left):
            return bool(SAID_ENDS & _spoken(left))
        case ast.IfExp(test=test):
            return bool(SAID_ENDS & _spoken(test))
        case ast.Call(func=func, args=args):
            said = (dotted(func) or str(getattr(func, "attr", ""))).rpartition(".")[2]
            is_turning = said in TURNING
            spoken = set().union(*(_spoken(one) for one in (*args, func)))
            return is_turning and bool(SAID_ENDS & spoken)
        case ast.Assign(targets=[ast.Subscript(slice=key)]):
            return bool(SAID_ENDS & _spoken(key))
    return False


def learnt_answers(index: Index) -> Iterator[LearntAnswer]:
    """The bootstraps and advantages that move with the network that learns from them."""
    for function in telling_bodies(index, lambda text: "backward(" in text):
        if _speaks_of_discounts(function.source.text):
            yield from _learnt_targets(function)
        yield from _learnt_worths(index, function)


def _speaks_of_discounts(text: str) -> bool:
    return any(word in text for word in DISCOUNTS)


# Bootstraps


def _bootstraps(function: Function) -> Iterator[ast.BinOp]:
    """`reward + gamma * worth`, in any order."""
    for node in own_nodes(function.node, ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for reward, worth in ((node.left, node.right), (node.right, node.left)):
            is_product = isinstance(worth, ast.BinOp) and isinstance(worth.op, ast.Mult)
            if is_product and REWARDS & _spoken(reward) and DISCOUNTS & _spoken(worth):
                yield node
                break


def _spoken(node: ast.AST) -> set[str]:
    """The words of all names below a node, those of keys too."""
    found: set[str] = set()
    for one in all_nodes(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                found.update(words(name))
    return found


# Ends of episodes


def _is_told(function: Function, target: ast.expr) -> bool:
    """Whether a target may know of the ends by another name, or by a discount of each step."""
    spoken = _spoken(target)
    for name in {one.id for one in all_nodes(target, ast.Name)}:
        values = assigned(function, name)
        if values and all(isinstance(given, ast.Constant) for given in values):
            spoken -= set(words(name))  # a number tells nothing of the ends
        for given in values:
            spoken |= _spoken(given)
    return bool(spoken & LEFT_OF_EPISODE) or bool(DISCOUNTS & _words_of(_unpacked(function)))


def _words_of(names: set[str]) -> set[str]:
    return {word for name in names for word in words(name)}


def _unpacked(function: Function) -> set[str]:
    """Names that come out of a batch: by an assignment to several, or by a loop over several."""
    found: set[str] = set()
    given = [target for node in own_nodes(function.node, ast.Assign) for target in node.targets]
    for target in (*given, *(node.target for node in own_nodes(function.node, ast.For))):
        if isinstance(target, ast.Tuple):
            found.update(one.id for one in all_nodes(target, ast.Name))
    return found


def _ends_bound(function: Function) -> set[str]:
    """The names of ends that a function is handed: unpacked, given as parameters, or written into by step."""
    stored = {
        one.value.id
        for node in own_nodes(function.node, ast.Assign)
        for one in node.targets
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
    }
    own = function.owner.methods.values() if function.owner is not None else ()
    kept = {
        f"self.{target.attr}"
        for method in own
        for node in own_nodes(method.node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        if target.value.id == "self" and SAID_ENDS.intersection(words(target.attr))
    }
    handed = _unpacked(function) | set(function.parameters) | stored | kept
    return {name for name in handed if ENDS.intersection(words(name.rpartition(".")[2]))}


def _ends_read(function: Function, ends: set[str]) -> bool:
    """Whether anything but the keeping of ends reads them; a number under such a name tells nothing."""
    kept = _kept_as_ends(function)
    told = ends | {name for name in _read_names(function, kept) if _is_end(function, name)}
    return bool(told & _read_names(function, kept)) or _reads_field(function)


def _is_end(function: Function, name: str) -> bool:
    given = assigned(function, name)
    is_number = bool(given) and all(isinstance(one, ast.Constant) for one in given)
    return bool(ENDS.intersection(words(name))) and not is_number


def _kept_as_ends(function: Function) -> set[int]:
    """The nodes of statements that only hand ends on: `dones[step] = next_done`."""
    return {
        id(one)
        for node in own_nodes(function.node, ast.Assign)
        if any(ENDS & _spoken(_written_to(target)) for target in node.targets)
        for one in all_nodes(node)
    }


def _written_to(target: ast.expr) -> ast.expr:
    """What an assignment changes: `dones` in `dones[step] = ...`, and not what it is indexed by."""
    return target.value if isinstance(target, ast.Subscript) else target


def _read_names(function: Function, kept: set[int]) -> set[str]:
    return {
        node.id
        for node in all_nodes(function.node, ast.Name)
        if isinstance(node.ctx, ast.Load) and id(node) not in kept
    }


def _reads_field(function: Function) -> bool:
    """Whether ends are taken from an object or a table: `batch.done`, `batch["done"]`."""
    fields = [node for node in own_nodes(function.node, ast.Attribute) if isinstance(node.ctx, ast.Load)]
    entries = [node for node in own_nodes(function.node, ast.Subscript) if isinstance(node.ctx, ast.Load)]
    return any(ENDS & _spoken(node) for node in (*fields, *entries))


# Answers with gradients


def _learnt_targets(function: Function) -> Iterator[LearntAnswer]:
    """Bootstraps with the worth that the network itself gives to what follows, gradients and all."""
    cut = _cut_off(function)
    for target in _bootstraps(function):
        name = _name_given(function, target)
        if name is None or id(target) in cut or not _is_compared(function, name):
            continue
        parts = list(_unfolded(function, target, cut, DEPTH))
        inside = {id(one) for part in parts for one in all_nodes(part)}
        followed = {called for part in parts for called in _networks_called(part)}
        predicted = {
            called
            for node in own_nodes(function.node, ast.Call)
            if id(node) not in inside and id(node) not in cut
            for called in _networks_called(node)
        }
        for shared in sorted(followed & predicted):
            yield LearntAnswer(function.source, target, shared, "target")
            break


def _learnt_worths(index: Index, function: Function) -> Iterator[LearntAnswer]:
    """Advantages whose own error is learnt from in the loss that they weigh actions in."""
    cut = _cut_off(function)
    for _, found in minimised_terms(index, function):
        erring = {name for term in found if _is_error(term) for name in _names_with_gradients(term.node)}
        for term in found:
            if term.function is not function or not is_policy(term) or _is_cut(term.node):
                continue
            shared = erring & _behind(function, term.node, cut)
            if shared:
                yield LearntAnswer(function.source, term.node, min(shared), "worth")
                break


def _behind(function: Function, node: ast.expr, cut: set[int]) -> set[str]:
    """The advantages of a term, and the estimates that they are measured from: `returns - values`."""
    found: set[str] = set()
    for name in {one.id for one in all_nodes(node, ast.Name)}:
        given = assigned(function, name) if WORTHS & set(words(name)) else []
        match given:
            case [ast.BinOp(op=ast.Sub(), right=estimate) as value]:
                if not _is_cut(value) and id(value) not in cut:
                    found |= {name} | {one.id for one in all_nodes(estimate, ast.Name)}
    return found


def _is_error(term: Term) -> bool:
    text = ast.unparse(term.node)
    is_square = "pow(2" in text or "** 2" in text or "square(" in text
    return is_square or any(f"{name}_loss(" in text for name in ("mse", "smooth_l1", "huber", "l1"))


def _names_with_gradients(node: ast.expr) -> set[str]:
    text = ast.unparse(node)
    names = {one.id for one in all_nodes(node, ast.Name)}
    return {name for name in names if f"{name}.detach" not in text and f"{name}.data" not in text}


def _is_cut(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return any(word in text for word in CUTTING)


def _cut_off(function: Function) -> set[int]:
    """The nodes inside `with torch.no_grad()`; all of them where the function is decorated so."""
    if any(name.endswith(("no_grad", "inference_mode")) for name in function.decorators):
        return {id(node) for node in all_nodes(function.node)}
    return {
        id(node)
        for block in own_nodes(function.node, ast.With)
        if any(_is_cut(item.context_expr) for item in block.items)
        for node in all_nodes(block)
    }


def _name_given(function: Function, value: ast.expr) -> str | None:
    for node in own_nodes(function.node, ast.Assign):
        if node.value is value and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return None


def _is_compared(function: Function, name: str) -> bool:
    """Whether a target is an answer as it is: handed to a loss, or subtracted, and nowhere detached."""
    reads = [node for node in own_nodes(function.node) if _mentions(node, name)]
    if any(isinstance(node, ast.Attribute) and node.attr in {"detach", "data"} for node in reads):
        return False
    return any(
        (isinstance(node, ast.Call) and "loss" in ast.unparse(node.func).lower())
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub))
        for node in reads
    )


def _mentions(node: ast.AST, name: str) -> bool:
    """Whether a name is what a call is given, what a difference is of, or what an attribute is taken of."""
    match node:
        case ast.Call(args=args):
            parts: list[ast.expr] = [*args]
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.Attribute(value=value):
            parts = [value]
        case _:
            return False
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _unfolded(function: Function, node: ast.expr, cut: set[int], depth: int) -> Iterator[ast.expr]:
    """An expression and what its names are given, as long as nothing cuts gradients off."""
    if depth == 0 or _is_cut(node) or id(node) in cut:
        return
    yield node
    for name in {one.id for one in all_nodes(node, ast.Name)}:
        given = assigned(function, name)
        if len(given) == 1:
            yield from _unfolded(function, given[0], cut, depth - 1)


def _networks_called(node: ast.expr) -> Iterator[str]:
    for call in all_nodes(node, ast.Call):
        name = dotted(call.func) or ""
        spoken = set(words(name.rpartition(".")[2]))
        if call.args and spoken & NETWORKS and not spoken & {"target", "tgt", "old", "frozen", "loss"}:
            yield name
