"""The courses of the schedulers that torch and transformers bring, as far as their lengths are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from stethoscope.program.loop.known_numbers import known_number, known_numbers
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Items, Value

Share = Callable[[int], float | None]
Taken = Mapping[str, float]

# Arguments with their positions behind the optimizer and their defaults; None where one must be given.
ARGUMENTS: Mapping[str, Mapping[str, tuple[int, float | None]]] = {
    "CosineAnnealingLR": {"T_max": (1, None)},
    "LinearLR": {"start_factor": (1, 1 / 3), "end_factor": (2, 1.0), "total_iters": (3, 5.0)},
    "ConstantLR": {"factor": (1, 1 / 3), "total_iters": (2, 5.0)},
    "PolynomialLR": {"total_iters": (1, 5.0), "power": (2, 1.0)},
    "StepLR": {"step_size": (1, None), "gamma": (2, 0.1)},
    "OneCycleLR": {"total_steps": (2, None), "pct_start": (5, 0.3)},
    "get_linear_schedule_with_warmup": {"num_warmup_steps": (1, None), "num_training_steps": (2, None)},
    "get_cosine_schedule_with_warmup": {"num_warmup_steps": (1, None), "num_training_steps": (2, None)},
}


def library_course(run: Execution, made: Value) -> Share | None:
    """What share of the rate a scheduler of a library gives each round; none where a length is open."""
    made = quietly(run, made)
    if not isinstance(made, Applied):
        return None
    kind = made.callee.rpartition(".")[2]
    if kind == "SequentialLR":
        return _in_sequence(run, made)
    if kind == "MultiStepLR":
        return _at_milestones(run, made)
    taken = _taken(run, kind, made) if kind in ARGUMENTS else None
    form = FORMS[kind] if taken is not None else None
    return (lambda at: form(taken, at)) if form is not None and taken is not None else None


def _taken(run: Execution, kind: str, made: Applied) -> Taken | None:
    found: dict[str, float] = {}
    for name, (position, default) in ARGUMENTS[kind].items():
        given = made.keywords.get(name) or _at(made.args, position)
        number = known_number(run, given) if given is not None else default
        if number is None:
            return None
        found[name] = number
    return found


def _in_sequence(run: Execution, made: Applied) -> Share | None:
    """One scheduler after the other, each beginning at its own first round."""
    members = made.keywords.get("schedulers") or _at(made.args, 1)
    limits = made.keywords.get("milestones") or _at(made.args, 2)
    members = quietly(run, members) if members is not None else None
    starts = known_numbers(run, limits)
    if not isinstance(members, Items) or len(starts) != len(members.items) - 1:
        return None
    shares = [library_course(run, member) for member in members.items]

    def at(round_: int) -> float | None:
        place = sum(round_ >= start for start in starts)
        share = shares[place]
        return share(round_ - int(starts[place - 1]) if place else round_) if share is not None else None

    return at


def _at_milestones(run: Execution, made: Applied) -> Share | None:
    """One share less behind each milestone."""
    limits = made.keywords.get("milestones") or _at(made.args, 1)
    gamma = made.keywords.get("gamma") or _at(made.args, 2)
    milestones = known_numbers(run, limits)
    factor = known_number(run, gamma) if gamma is not None else 0.1
    if not milestones or factor is None:
        return None
    return lambda at: float(factor ** sum(at >= milestone for milestone in milestones))


def _at(values: Sequence[Value], position: int) -> Value | None:
    return values[position] if position < len(values) else None


def _cosine(taken: Taken, at: int) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * at / max(1.0, taken["T_max"])))


def _line(taken: Taken, at: int) -> float:
    done = min(1.0, at / max(1.0, taken["total_iters"]))
    return taken["start_factor"] + (taken["end_factor"] - taken["start_factor"]) * done


def _constant(taken: Taken, at: int) -> float:
    return taken["factor"] if at < taken["total_iters"] else 1.0


def _polynomial(taken: Taken, at: int) -> float:
    left = 1.0 - min(1.0, at / max(1.0, taken["total_iters"]))
    return float(left ** taken["power"])


def _staircase(taken: Taken, at: int) -> float:
    return float(taken["gamma"] ** (at // max(1.0, taken["step_size"])))


def _one_cycle(taken: Taken, at: int) -> float | None:
    if at >= taken["total_steps"]:
        return None  # torch ends with an error there
    top = taken["pct_start"] * taken["total_steps"] - 1.0
    if at <= top:
        return 0.04 + 0.96 * 0.5 * (1.0 - math.cos(math.pi * at / max(1.0, top)))
    return 0.5 * (1.0 + math.cos(math.pi * (at - top) / max(1.0, taken["total_steps"] - 1.0 - top)))


def _warmed_line(taken: Taken, at: int) -> float:
    return _warmed(taken, at, lambda done: 1.0 - done)


def _warmed_cosine(taken: Taken, at: int) -> float:
    return _warmed(taken, at, lambda done: 0.5 * (1.0 + math.cos(math.pi * done)))


def _warmed(taken: Taken, at: int, fall: Callable[[float], float]) -> float:
    warm_up, length = taken["num_warmup_steps"], taken["num_training_steps"]
    if at < warm_up:
        return at / max(1.0, warm_up)
    return max(0.0, fall(min(1.0, (at - warm_up) / max(1.0, length - warm_up))))


FORMS: Mapping[str, Callable[[Taken, int], float | None]] = {
    "CosineAnnealingLR": _cosine,
    "LinearLR": _line,
    "ConstantLR": _constant,
    "PolynomialLR": _polynomial,
    "StepLR": _staircase,
    "OneCycleLR": _one_cycle,
    "get_linear_schedule_with_warmup": _warmed_line,
    "get_cosine_schedule_with_warmup": _warmed_cosine,
}
