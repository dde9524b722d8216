"""The terms of the training objective: likenesses and distances, and with what sign they count."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.index import Function, Index, index
from stethoscope.program.likenesses import (
    ANGLES,
    APART,
    ATTACK,
    DIVERGENCE,
    JUDGED,
    LIKELIHOOD,
    LIKENESS_WORDS,
    ONLY_APART,
    TOGETHER,
    is_target_like,
    words,
)
from stethoscope.program.objective.attraction import only_pushes
from stethoscope.program.objective.loss_masks import is_comparison, names_mask
from stethoscope.program.objective.orientation import LARGEST_BOUNDED, Contribution, Reader, spoken_name
from stethoscope.program.objective.taken_apart import Objective, allow_reading, objectives
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.effects import hands_over_loss
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    LambdaValue,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
    span_of,
)
from stethoscope.run import Program, Recipe, Source, Splice, Where

UNBOUNDED = frozenset({"PSNR", "SNR", LIKELIHOOD, DIVERGENCE})  # turned by a minus, not from one


@dataclass(frozen=True, slots=True)
class LossTerm:
    """One term of what is minimised.

    `orientation` is +1 for a likeness (larger is better) and -1 for a distance; `sign` is the sign with
    which it is minimised. `where` is the line that makes the term, `sink` the backward pass. `proof` says by
    what trial the orientation is certain; `strength` how sure it is otherwise.
    """

    name: str
    component: str
    kind: str
    orientation: int
    sign: int
    weight: float | None
    where: Where
    sink: Where
    path: tuple[Where, ...] = ()
    proof: str = ""
    strength: float = 1.0
    fix: Splice | None = None
    returned: bool = False  # the line returns it, rather than computing it for a sum
    computed: Where | None = None  # the line of its formula, where the term is the call of a function

    @property
    def wrong(self) -> bool:
        """Whether minimising it works against the likeness."""
        return self.orientation > 0 and self.sign > 0


@dataclass(frozen=True, slots=True)
class LossTerms:
    """The terms that could be read, and how many backward passes were met."""

    terms: tuple[LossTerm, ...]
    sinks: int


@remembered
def loss_terms(program: Program, recipe: Recipe | None = None) -> LossTerms:
    """Read the terms of everything that a program minimises."""
    names = index(program)
    settings = settings_tree(recipe)
    found = minimised(names, settings)
    if maximises(program):
        return LossTerms((), len(found))
    terms: dict[tuple[Where, str], LossTerm] = {}
    is_single = len({id(one.sink.site.node) for one in found}) == 1
    for objective in objectives(names, settings):
        for term in _terms(objective, names, settings, is_single):
            known = terms.get((term.where, term.name))
            if known is None or term.strength > known.strength:
                terms[(term.where, term.name)] = term
    return LossTerms(tuple(terms.values()), len(found))


def _terms(objective: Objective, names: Index, settings: SettingsTree, is_single: bool) -> Iterator[LossTerm]:
    one, reader, contributions = objective.one, objective.reader, objective.contributions
    allow_reading(one.run)
    try:
        # Another backward pass may be there for what this one does not say.
        pushes = is_single and only_pushes(reader, one.sink.value, names, settings)
    except (Exhausted, RecursionError):
        return
    # The same likeness with both signs is a contrast: near the one, far from the other.
    contrasted = {c.kind for c in contributions if c.orientation > 0 > _signed(c, names, settings)}
    for contribution in contributions:
        sign = _signed(contribution, names, settings)
        if sign == 0:
            continue
        contrast = contribution.kind in contrasted and contribution.kind in {*ANGLES, LIKELIHOOD}
        if contribution.net > 0 and (contrast or not _is_meant_to_agree(contribution, reader, one, pushes)):
            continue
        yield _term(contribution, sign, one, reader)


# Signs and weights


def _signed(contribution: Contribution, names: Index, settings: SettingsTree) -> int:
    sign = contribution.sign
    for weight in contribution.weights:
        sign *= _weight_sign(weight, names, settings)
    return sign


def _weight_sign(weight: Value, names: Index, settings: SettingsTree) -> int:
    match weight:
        case Constant(value=bool()):
            return 1
        case Constant(value=int() | float() as number, setting=key):
            # The log recorded one sign and the file has the other: which of them ran is not known.
            is_disputed = number > 0 and key in settings.below_zero
            return 0 if is_disputed else (number > 0) - (number < 0)
        case Applied(callee="neg", args=(inner,)):
            return -_weight_sign(inner, names, settings)
        case Applied(callee="*" | "/", args=args):
            sign = 1
            for arg in args:
                sign *= _weight_sign(arg, names, settings)
            return sign
        case Leaf(name=name) | Part(key=str() as name):
            return 0 if _may_be_negative(name, names, settings) else 1
    return 1


def _may_be_negative(name: str, names: Index, settings: SettingsTree) -> bool:
    known = settings.values_named(name)
    if any(isinstance(value, int | float) and value < 0 for value in known):
        return True
    return not known and name in _negative_defaults(names)


@lru_cache(maxsize=4)
def _negative_defaults(names: Index) -> frozenset[str]:
    """Parameters, class variables and command-line options whose default is below zero."""
    found: set[str] = set()
    for function in names.functions:
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        pairs = list(zip(reversed(positional), reversed(spec.defaults), strict=False))
        found.update(arg.arg for arg, default in pairs if _is_negative(default))
        found.update(
            a.arg
            for a, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
            if _is_negative(default)
        )
        for node in own_nodes(function.node):
            found.update(_negative_option(node))
    for cls in names.classes:
        found.update(name for name, default in cls.variables.items() if _is_negative(default))
    return frozenset(found)


def _negative_option(node: ast.AST) -> Iterator[str]:
    """`add_argument("--ssim-weight", default=-0.1)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    below_zero = any(keyword.arg == "default" and _is_negative(keyword.value) for keyword in node.keywords)
    if node.func.attr == "add_argument" and below_zero:
        for arg in node.args:
            if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                yield arg.value.lstrip("-").replace("-", "_")


def _is_negative(node: ast.expr | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def maximises(program: Program) -> bool:
    """Whether an optimiser is told to go uphill."""
    for source in program:
        if "maximize" not in source.text:
            continue
        for node in all_nodes(source.tree):
            if isinstance(node, ast.keyword) and node.arg == "maximize" and _is_true(node.value):
                return True
    return False


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


# Which likenesses ought to rise


def _is_meant_to_agree(contribution: Contribution, reader: Reader, one: Minimised, pushes: bool) -> bool:
    """Whether the operands are a prediction and what it is held against.

    Of two network outputs that is said where the objective `pushes` and does nothing else.
    """
    if contribution.orientation < 0 and not contribution.reshaped:
        return False  # a plain distance that is raised: games and attacks do that on purpose
    operands = _operands(contribution, reader)
    about = " ".join(_names_around(contribution, one))
    if ATTACK.search(about):
        return False
    if contribution.kind == DIVERGENCE:
        return True
    if contribution.kind == LIKELIHOOD:
        # Weights that come from data or networks say how much of it is wanted, and whether at all.
        is_plain = all(_is_plain(weight) for weight in contribution.weights)
        return is_plain and not JUDGED.search(about)
    learning = [reader.carries_gradient(operand) for operand in operands]
    targets = [any(map(is_target_like, _names_of(operand))) for operand in operands]
    named = any(targets) or any(map(is_target_like, _parameter_names(contribution)))
    if contribution.kind in ANGLES:
        plain = [not comes_from_model(reader.run, operand) for operand in operands]
        if pushes and len(operands) == 2 and any(learning) and not any(plain):
            return not ONLY_APART.search(about)
        if APART.search(about):
            return False
        if len(operands) == 2 and all(learning) and TOGETHER.search(about):
            return True
        return sum(learning) == 1 and (any(targets) or any(plain))
    if not operands:
        return named
    if all(learning) and len(operands) > 1:
        return named and any(targets)
    return any(learning) or named


def _is_plain(weight: Value) -> bool:
    """Whether a weight is a number or a mask, which only says what counts."""
    weight = peeled(weight)
    if isinstance(weight, Applied):
        is_mask = weight.callee in {"&", "|", "~"} or is_comparison(weight)
        return is_mask or weight.callee.rpartition(".")[2] in {"ones", "ones_like"}
    return isinstance(weight, Constant) or names_mask(weight)


def _operands(contribution: Contribution, reader: Reader) -> tuple[Value, ...]:
    value = contribution.value
    if contribution.tried is None and isinstance(value, Applied):
        return value.args[:2]
    if contribution.tried is None and isinstance(value, Delayed):
        return tuple(arg for arg in value.args if not isinstance(arg, Constant))[:2]
    return reader.operands(value) or ()


def _names_of(value: Value) -> Iterator[str]:
    """The names under which a value is known, nearest first."""
    seen = 0
    waiting = [value]
    while waiting and seen < 40:
        current = waiting.pop(0)
        seen += 1
        if isinstance(current, Leaf):
            yield current.name
        elif isinstance(current, Part):
            yield str(current.key)
            if not isinstance(current.base, Instance):
                waiting.append(current.base)
        elif isinstance(current, Applied) and current.callee.startswith("."):
            waiting.extend(current.args[:1])
        elif not isinstance(current, Delayed | Applied):
            waiting.extend(inputs(current))


def _parameter_names(contribution: Contribution) -> Iterator[str]:
    for passage in contribution.through:
        if isinstance(passage.call.callee, FunctionValue):
            yield from passage.call.callee.function.parameters


def _names_around(contribution: Contribution, one: Minimised) -> Iterator[str]:
    yield contribution.value.site.text[:300]
    for passage in contribution.through:
        yield spoken_name(passage.call)
        yield passage.call.site.text[:300]
    for function in one.sink.within[-2:]:
        yield function.spoken
    statement = _statement_around(contribution.value.site)
    if statement is not None:
        yield ast.unparse(statement)[:300]


def _statement_around(site: Site) -> ast.stmt | None:
    """The assignment that holds an expression."""
    line = getattr(site.node, "lineno", 0)
    for node in all_nodes(site.source.tree):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            continue
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    return None


# What a reader sees


def _term(contribution: Contribution, sign: int, one: Minimised, reader: Reader) -> LossTerm:
    place = _place(contribution, reader)
    function = _returning(place)
    returns = _returns(function) if function is not None else []
    name = _spoken(place, function)
    turned = contribution.orientation < 0 < contribution.net
    return LossTerm(
        name=name,
        component=_component(place, contribution),
        kind=_kind(contribution, name),
        orientation=1 if turned else contribution.orientation,
        sign=-sign if turned else sign,
        weight=_weight(contribution, place),
        where=_where(place, function, returns),
        sink=one.sink.site.where,
        path=tuple(passage.call.site.where for passage in reversed(contribution.through)),
        proof=_proof(contribution, name) if contribution.net > 0 else "",
        strength=(1.0 if contribution.tried is not None else 0.9) if contribution.chosen else 0.6,
        fix=_fix(contribution, place, function, returns) if contribution.net > 0 else None,
        returned=function is not None,
        computed=contribution.value.site.where,
    )


def _where(place: Applied | Delayed, function: Function | None, returns: list[ast.Return]) -> Where:
    if isinstance(place, Delayed) and isinstance(place.callee, LambdaValue):
        return place.callee.source.where(place.callee.node)
    return function.where(returns[-1]) if function is not None and returns else place.site.where


def _place(contribution: Contribution, reader: Reader) -> Applied | Delayed:
    """What stands for the whole term: the outermost call whose result is the likeness itself."""
    for passage in contribution.through:
        call = passage.call
        if passage.sign * contribution.orientation < 0:
            continue
        tried = reader.trial(call)
        if (tried is not None and tried.orientation > 0) or (tried is None and call is contribution.value):
            return call
        if tried is None and _only_returns(call, contribution.value):
            return call
    return contribution.value


def _only_returns(call: Delayed, value: Value) -> bool:
    """Whether a function does nothing but hand a likeness on, reduced at most."""
    if not isinstance(call.callee, FunctionValue):
        return False
    returns = _returns(call.callee.function)
    if len(returns) != 1 or returns[0].value is None or not isinstance(value, Applied | Delayed):
        return False
    inner = returns[0].value
    while (
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner is not value.site.node
    ):
        inner = inner.func.value
    return inner is value.site.node


def _returning(place: Applied | Delayed) -> Function | None:
    """The function whose return line is to be mended: a loss; a helper is mended where it is called."""
    if not isinstance(place, Delayed) or not isinstance(place.callee, FunctionValue):
        return None
    return place.callee.function if _stands_for_loss(place) or hands_over_loss(place.site.node) else None


def _stands_for_loss(call: Delayed) -> bool:
    if isinstance(call.callee, LambdaValue):
        return True
    function = call.callee.function
    return (
        function.name in {"forward", "__call__"}
        or "loss" in words(function.name)
        or "criterion" in function.name
    )


def _returns(function: Function) -> list[ast.Return]:
    found = [n for n in own_nodes(function.node, ast.Return) if n.value is not None]
    return sorted(found, key=lambda node: node.lineno)


def _spoken(place: Applied | Delayed, function: Function | None) -> str:
    if isinstance(place, Delayed):
        name = spoken_name(place)
        return f"{name}.{function.name}" if function is not None and function.owner is not None else name
    return (
        place.callee.removesuffix("()").rpartition(".")[2]
        if place.callee[0].isalpha()
        else place.site.text[:60]
    )


def _component(place: Applied | Delayed, contribution: Contribution) -> str:
    """The short name that a log would give the term: SSIMLoss -> ssim."""
    name = spoken_name(place) if isinstance(place, Delayed) else contribution.kind
    kept = [
        word for word in words(name) if word not in {"loss", "criterion", "forward", "calculate", "compute"}
    ]
    return "_".join(kept) or contribution.kind.lower()


def _kind(contribution: Contribution, name: str) -> str:
    """What is measured, as people call it."""
    named = next((LIKENESS_WORDS[word] for word in words(name) if word in LIKENESS_WORDS), "")
    if contribution.net > 0 > contribution.orientation:
        return named or "PSNR"
    return named or contribution.kind


def _weight(contribution: Contribution, place: Applied | Delayed) -> float | None:
    """The product of the known weights outside of the place; None where some are not known."""
    inside = next((len(p.weights) for p in contribution.through if p.call is place), 0)
    outside = contribution.weights[: len(contribution.weights) - inside]
    known = [w.value for w in outside if isinstance(w, Constant) and isinstance(w.value, int | float)]
    # Multipliers that a scheduler computes start from one.
    unknown = [w for w in outside if not isinstance(w, Constant) and not _may_be_one(w)]
    return None if unknown else math.prod(known)


def _may_be_one(weight: Value) -> bool:
    options = weight.options if isinstance(weight, Choice) else ()
    return any(isinstance(option, Constant) and option.value == 1 for option in options)


def _proof(contribution: Contribution, name: str) -> str:
    tried = contribution.tried
    if tried is None or contribution.orientation < 0:
        return ""
    return (
        f"computed on equal inputs, {name} gives {tried.alike:.3f}, its largest value; "
        f"on unrelated ones {tried.unlike:.3f}"
    )


def _fix(
    contribution: Contribution,
    place: Applied | Delayed,
    function: Function | None,
    returns: list[ast.Return],
) -> Splice | None:
    tried = contribution.tried
    unbounded = tried.alike > LARGEST_BOUNDED if tried is not None else contribution.kind in UNBOUNDED
    bounded = not unbounded and contribution.orientation > 0
    if isinstance(place, Delayed) and isinstance(place.callee, LambdaValue):
        return _negated(place.callee.source, place.callee.node.body, bounded, inside=False)
    if function is not None:
        if len(returns) != 1 or returns[0].value is None:
            return None
        return _negated(function.source, returns[0].value, bounded, inside=False)
    site = place.site
    if not _is_written_out(place):
        return None  # the same call also computes other terms
    return _negated(site.source, site.node, bounded, inside=True) if isinstance(site.node, ast.expr) else None


def _is_written_out(place: Applied | Delayed) -> bool:
    """Whether the line names what it calls, as `ssim(a, b)` does and `criterion(a, b)` in a loop does not."""
    call = place.site.node
    if not isinstance(call, ast.Call):
        return not hands_over_loss(call)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if isinstance(place, Delayed):
        return isinstance(place.callee, FunctionValue) and name == place.callee.function.name
    named = any(word in LIKENESS_WORDS for word in words(name))
    return named or (place.maker is None and not hands_over_loss(call))


def _negated(source: Source, node: ast.expr, bounded: bool, inside: bool) -> Splice | None:
    span = span_of(source, node)
    if span is None:
        return None
    text = source.text[span[0] : span[1]]
    loose = isinstance(node, ast.IfExp | ast.Lambda | ast.BoolOp | ast.Compare) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
    )
    inner = f"({text})" if loose else text
    mended = f"1 - {inner}" if bounded else f"-{inner}"
    return Splice(source.file, *span, f"({mended})" if inside else mended)
