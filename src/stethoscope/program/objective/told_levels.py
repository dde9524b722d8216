"""What a network is told of the noise in its input, where that is not what the noise was made with.

A level that lies between zero and one and is cast to a whole number is zero. A level that one function
hands to the corruption and to the network, and another hands to the network as what is left of one, means
two things. Zeros in the place of the level that was drawn say nothing, and neither does the level of the
first sample to all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import MODEL_WORDS
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
LEVELS = frozenset({
    "level", "levels", "sigma", "sigmas", "t", "ts", "time", "times", "timestep", "timesteps", "tau",
})
CORRUPTING = frozenset({
    "corrupt", "corrupted", "add_noise", "q_sample", "perturb", "diffuse", "noise", "noised", "mask",
    "marginal", "forward_process", "interpolate_path", "sample_xt", "perturbed",
})
NETWORKS = MODEL_WORDS | {"denoiser", "score", "eps", "ema", "ddpm", "velocity", "predictor"}
WHOLE = frozenset({"long", "int", "short"})
WHOLE_TYPES = frozenset({"long", "int", "int32", "int64", "int16", "int8"})
FRACTIONS = frozenset({"rand", "uniform", "uniform_", "random", "rand_like"})
STEPS = frozenset({"randint", "randint_like", "arange", "integers"})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class CutLevel:
    """A level below one that a network casts to a whole number, and where it is drawn."""

    source: Source
    cast: ast.AST
    name: str
    drawn: tuple[Source, ast.AST]


@dataclass(frozen=True, slots=True, eq=False)
class TurnedLevel:
    """A network that is told what is left of one, where elsewhere it is told the level itself."""

    source: Source
    told: ast.AST
    elsewhere: tuple[Source, ast.AST]
    level: str


@dataclass(frozen=True, slots=True, eq=False)
class BlankLevel:
    """A network that is told the same for every sample, and the corruption that uses a level of each."""

    source: Source
    told: ast.AST
    used: ast.AST
    level: str


def cut_levels(index: Index) -> Iterator[CutLevel]:
    """Casts to whole numbers in networks whose levels are drawn as fractions, wherever they are drawn."""
    functions = [one for one in index.functions if not is_test(one.source)]
    drawn = _drawn_as_fractions(functions)
    if drawn is None:
        return
    for cls in index.classes:
        forward = cls.methods.get("forward")
        if forward is None or is_test(cls.source) or not _is_module(index, cls):
            continue
        for parameter in (one for one in forward.parameters if one != "self" and LEVELS & _named(one)):
            cast = next((node for node in own_nodes(forward.node) if _casts(node, parameter)), None)
            if cast is not None and not _is_scaled(forward, parameter):
                yield CutLevel(cls.source, cast, parameter, drawn)


def _named(name: str) -> set[str]:
    return {*words(name), name}


def _is_module(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2] == "Module" for base in index.outside_bases(cls))


def _casts(node: ast.AST, name: str) -> bool:
    """`level.long()`, `t.to(torch.int64)`, of the parameter as it came."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method), args=args) if found == name:
            if method in WHOLE and not args:
                return True
            types = {getattr(one, "attr", "") for one in args}
            return method == "to" and bool(types & WHOLE_TYPES)
    return False


def _is_scaled(forward: Function, name: str) -> bool:
    """Whether a level is made larger first: `t = t * 1000`."""
    for node in own_nodes(forward.node):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                if any(isinstance(one, ast.Name) and one.id == name for one in (left, right)):
                    return True
            case ast.AugAssign(target=ast.Name(id=found)) if found == name:
                return True
    return False


def _drawn_as_fractions(functions: Sequence[Function]) -> tuple[Source, ast.AST] | None:
    """Where levels are drawn between zero and one; None where any are drawn as steps or made larger."""
    found: tuple[Source, ast.AST] | None = None
    for function in functions:
        is_level = bool(LEVELS & _named(function.name))
        for node in own_nodes(function.node, ast.Assign, ast.Return):
            targets = {function.name} if isinstance(node, ast.Return) and is_level else _level_targets(node)
            value = getattr(node, "value", None)
            if not targets or not isinstance(value, ast.expr):
                continue
            called = {bare_name(one) for one in all_nodes(value, ast.Call)}
            if called & STEPS or _has_large(value):
                return None
            if called & FRACTIONS or _mentions_fraction(function, value):
                found = found or (function.source, node)
    return found


def _mentions_fraction(function: Function, value: ast.expr) -> bool:
    """Whether a name in an expression was drawn between zero and one in the same function."""
    names = {one.id for one in all_nodes(value, ast.Name)}
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in names for t in node.targets
        ):
            calls = (one for one in all_nodes(node.value, ast.Call))
            if any(bare_name(one) in FRACTIONS for one in calls):
                return True
    return False


def _level_targets(node: ast.AST) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    names = {one.id for target in targets for one in all_nodes(target, ast.Name)}
    return {name for name in names if LEVELS & _named(name)}


def _has_large(value: ast.expr) -> bool:
    numbers = (one.value for one in all_nodes(value, ast.Constant))
    return any(isinstance(one, int | float) and not isinstance(one, bool) and abs(one) > 1 for one in numbers)


# --- turned round


def turned_levels(index: Index) -> Iterator[TurnedLevel]:
    """Calls of networks that are told one minus a level, where others are told the level itself."""
    functions = [function for function in index.functions if not is_test(function.source)]
    corrupted = {function: set(_corruptions(function)) for function in functions}
    plain: dict[str, tuple[Source, ast.AST]] = {}
    for function in functions:
        for corruption, level in corrupted[function]:
            for node, is_turned in _told(function, level):
                if not is_turned:
                    plain.setdefault(corruption, (function.source, node))
    for function in functions:
        near = {pair for other in functions if other.source is function.source for pair in corrupted[other]}
        for corruption, level in sorted(near):
            turned = next((node for node, is_turned in _told(function, level) if is_turned), None)
            if turned is not None and corruption in plain:
                yield TurnedLevel(function.source, turned, plain[corruption], level)
                break


def _corruptions(function: Function) -> Iterator[tuple[str, str]]:
    """The calls that put noise into something, each with a name that it is handed as its level."""
    for node in own_nodes(function.node):
        if not isinstance(node, ast.Call):
            continue
        name = bare_name(node)
        if name in CORRUPTING or CORRUPTING & set(words(name)):
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            for one in given:
                for inner in all_nodes(one):
                    if isinstance(inner, ast.Name) and not isinstance(one, ast.Call | ast.Attribute):
                        yield name, inner.id


def _told(function: Function, level: str) -> Iterator[tuple[ast.AST, bool]]:
    """The calls of networks that get a level, behind their input, as it is or turned round.

    A name that stands for a level in a table of them (`torch.full((n,), share)`) is followed too.
    """
    same = {level} | _made_of(function, level)
    for node in own_nodes(function.node):
        if not isinstance(node, ast.Call) or not NETWORKS & set(words(bare_name(node))):
            continue
        for given in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
            match given:
                case ast.Name(id=name) if name in same:
                    yield node, False
                case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1 | 1.0), right=ast.Name(id=name)):
                    if name in same:
                        yield node, True
                case ast.Call(args=args) if any(isinstance(one, ast.Name) and one.id in same for one in args):
                    yield node, False


def _made_of(function: Function, level: str) -> set[str]:
    """The names of full tables of a level: `level = torch.full((n,), share)`."""
    found: set[str] = set()
    for node in own_nodes(function.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=args) as made):
                is_table = bare_name(made) in {"full", "full_like", "expand", "tensor", "repeat"}
                if is_table and any(isinstance(one, ast.Name) and one.id == level for one in args):
                    found.add(name)
    return found


# --- nothing told


BLANK = frozenset({"zeros", "zeros_like", "ones", "ones_like"})
FULL = frozenset({"full", "full_like", "tensor"})


def blank_levels(index: Index) -> Iterator[BlankLevel]:
    """Networks that are told one number in the place of the level that their input was corrupted with."""
    for function in index.functions:
        if is_test(function.source):
            continue
        uses = dict(_level_uses(function))
        for call in own_nodes(function.node, ast.Call) if uses else ():
            if not NETWORKS & set(words(bare_name(call))):
                continue
            given = [*call.args[1:], *(word.value for word in call.keywords)]
            blank = next((one for one in given if _is_blank(function, one, set(uses))), None)
            others = [one for one in given if one is not blank]
            is_told = any(_tells(function, one, set(uses)) for one in others)
            if blank is not None and not is_told and call.args:
                level = next(iter(uses))
                yield BlankLevel(function.source, blank, uses[level], level)


def _level_uses(function: Function) -> Iterator[tuple[str, ast.AST]]:
    """The levels that a function corrupts with: handed to what adds noise, or looked up in a table."""
    for node in own_nodes(function.node):
        match node:
            case ast.Call() if CORRUPTING & {bare_name(node), *words(bare_name(node))}:
                given = (*node.args[1:], *(word.value for word in node.keywords))
                names = [one.id for one in given if isinstance(one, ast.Name)]
                yield from ((name, node) for name in names if LEVELS & _named(name))
            case ast.Subscript(value=table, slice=ast.Name(id=name)) if LEVELS & _named(name):
                if {"alpha", "alphas", "sqrt", "sigmas", "beta", "betas", "bar"} & set(
                    words(ast.unparse(table))
                ):
                    yield name, node


def _is_blank(function: Function, node: ast.expr, levels: set[str]) -> bool:
    """`zeros_like(t)`, `full((n,), 0)`, `t * 0`, `t[0].expand(n)`, or a name that is given one of these."""
    match node:
        case ast.Call() if bare_name(node) in BLANK:
            return True
        case ast.Call(args=args) if bare_name(node) in FULL and args:
            return not any(isinstance(one, ast.Name | ast.Attribute) for one in all_nodes(args[-1]))
        case ast.Call(
            func=ast.Attribute(value=inner, attr="expand" | "repeat" | "expand_as" | "long" | "to")
        ):
            return _is_blank(function, inner, levels) or _is_first(inner, levels)
        case ast.BinOp(op=ast.Mult(), left=left, right=ast.Constant(value=0 | 0.0)):
            return _tells(function, left, levels)
        case ast.Name(id=name) if name not in levels:
            made = _only_value(function, name)
            return made is not None and _is_blank(function, made, levels)
    return False


def _is_first(node: ast.expr, levels: set[str]) -> bool:
    match node:
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.Constant(value=int()) | ast.Slice(upper=ast.Constant())
        ):
            return name in levels
    return False


def _only_value(function: Function, name: str) -> ast.expr | None:
    found = [
        node.value
        for node in own_nodes(function.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return found[0] if len(found) == 1 else None


def _tells(function: Function, node: ast.expr, levels: set[str]) -> bool:
    """Whether a level, or something that is made from one, is in an expression."""
    names = {one.id for one in all_nodes(node, ast.Name)}
    if names & levels:
        return True
    made = [value for name in names if (value := _only_value(function, name)) is not None]
    return any(one.id in levels for value in made for one in all_nodes(value, ast.Name))
