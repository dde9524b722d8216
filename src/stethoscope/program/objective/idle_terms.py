"""Terms of a loss that no gradient goes through: numbers that are added, from which nothing is learned."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.data.ingredients import LAYOUT, has
from stethoscope.program.objective.gradient_reach import cut_off, records
from stethoscope.program.objective.own_losses import COMPARING, is_one_number
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import comes_from_model, detaches
from stethoscope.program.walk.values import Applied, Constant, Delayed, Items, Part, Site, Value

DEPTH = 8
CUT, WEIGHED_OUT, DROPPED, MISNAMED = "cut", "weighed out", "dropped", "misnamed"


@dataclass(frozen=True, slots=True, eq=False)
class IdleTerm:
    """An addend from which nothing is learned, the place that makes it so, and what happens there."""

    site: Site
    cut: Site
    sink: Site
    why: str = CUT


def cut_at(run: Execution, value: Value) -> Site | None:
    """Where all gradients of a term are cut off; None where one may get through."""
    found = _cut_at(run, value, DEPTH)
    if found is not None or _is_detached_whole(value):
        return found
    return cut_off(run, value)


def _is_detached_whole(value: Value) -> bool:
    """Whether a term is detached as a whole, behind its weight.

    A difference that is so keeps its number while another one is learned from: that is done on purpose.
    """
    match value:
        case Applied(callee="*" | "/" | "neg" | "+" | "-", args=args):
            return any(map(_is_detached_whole, args))
        case Applied():
            return detaches(value)
    return False


def _cut_at(run: Execution, value: Value, depth: int) -> Site | None:
    if depth == 0 or not comes_from_model(run, value):
        return None
    match value:
        case Applied(callee="*" | "/", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                if isinstance(scale, Constant | Part) and isinstance(inner, Applied | Delayed):
                    return _cut_at(run, inner, depth - 1)
                if isinstance(inner, Part) and inner.key == "data" and is_one_number(run, inner.base):
                    return value.site
        case Applied(callee="torch.tensor", args=[inner, *_]):
            return value.site if is_one_number(run, inner) else None
        case Applied(callee="neg", args=[inner]) | Applied(callee="-" | "+", args=[Constant(), inner]):
            return _cut_at(run, inner, depth - 1)
        case Applied(args=[inner, *_]) if detaches(value):
            is_difference = isinstance(inner, Applied) and inner.callee == "-"
            return value.site if is_one_number(run, inner) and not is_difference else None
        case Applied(callee=callee, args=[left, right, *_]) if _compares(callee):
            if not records(value.site):
                return value.site
            return value.site if all(_is_cut(run, side) for side in (left, right)) else None
        case Applied(callee=callee, args=[inner, *_]) if callee.rpartition(".")[2] in {"mean", "sum"}:
            difference = _difference(inner)
            if difference is None:
                return _cut_at(run, inner, depth - 1)
            is_cut = all(_is_cut(run, side) for side in difference)
            return value.site if is_cut or not records(value.site) else None
        case Delayed() if not records(value.site):
            return value.site if is_one_number(run, value) else None
        case Delayed(args=args, keywords=keywords) if SPREAD not in keywords:
            given = [*args, *keywords.values()]
            if is_one_number(run, value) and all(_is_cut(run, one) for one in given):
                return value.site
            return _cut_at(run, run.expand(value), depth - 1)
    return None


def made_anew(run: Execution, loss: Value, depth: int = DEPTH) -> Site | None:
    """Where a loss is made into a number of its own: `torch.tensor([first, second])`, `loss.detach()`."""
    match loss:
        case Applied(callee="torch.tensor" | "torch.as_tensor", args=[inner, *_]):
            return loss.site if _are_numbers(run, inner) else None
        case Applied(args=[inner, *_]) if detaches(loss):
            return loss.site if is_one_number(run, inner) else None
        case Applied(callee="*" | "/" | "neg" | ".sum" | ".mean" | ".requires_grad_", args=[inner, *_]):
            return made_anew(run, inner, depth - 1) if depth else None
    return None


def _are_numbers(run: Execution, value: Value) -> bool:
    """Whether a new tensor is made of losses: `torch.tensor(loss)`, `torch.tensor([first, second])`."""
    parts = value.items if isinstance(value, Items) else [value]
    return any(is_one_number(run, part) for part in parts)


def _compares(callee: str) -> bool:
    last = callee.removesuffix("()").rpartition(".")[2]
    return last in COMPARING or last.lower().endswith("loss") or last == "cosine_similarity"


def _difference(value: Value) -> tuple[Value, Value] | None:
    """The two sides of `(a - b) ** 2` and `(a - b).abs()`."""
    match value:
        case Applied(callee="**", args=[Applied(callee="-", args=[left, right]), *_]):
            return left, right
        case Applied(
            callee=".abs" | "torch.abs" | ".square" | ".pow", args=[Applied(callee="-") as inner, *_]
        ):
            return (inner.args[0], inner.args[1]) if len(inner.args) == 2 else None
    return None


def _is_cut(run: Execution, value: Value) -> bool:
    """Whether an operand was detached by its last steps, or is data that nothing is learned in."""
    current = value
    while isinstance(current, Applied) and current.args:
        if detaches(current):
            return True
        if current.callee.rpartition(".")[2] not in LAYOUT and current.callee != "[]":
            break
        current = current.args[0]
    if isinstance(current, Constant | Items):
        return True
    return isinstance(current, Part) and not has(run, current, lambda one: _may_learn(run, one))


def _may_learn(run: Execution, value: Value) -> bool:
    is_made = isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"Parameter", "Embedding"}
    return is_made or comes_from_model(run, value)
