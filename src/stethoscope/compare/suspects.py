"""Which of the differences may be why two runs part: those that can act before they do, likeliest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stethoscope.compare.comparison import (
    CodeDifference,
    Comparison,
    EnvironmentDifference,
    SettingDifference,
    Suspect,
)
from stethoscope.run import Where
from stethoscope.run.names import better
from stethoscope.signals import restarts

# What a quantity acts on first, where a signal of that kind leads.
_LEADS = {
    "lr": frozenset(
        {"learning rate", "schedule", "warm-up", "milestones", "decay length", "length of the run"}
    ),
    "loss_scale": frozenset({"precision", "loss scaling"}),
    "weight/": frozenset({"losses", "curriculum"}),
    "difficulty": frozenset({"curriculum"}),
}
POINTED_AT, SHOWN_BY_THE_FIRST, NAMED, PLAIN, MACHINE = 4.0, 2.0, 1.0, 0.5, 0.25


def suspects(compared: Comparison) -> Comparison:
    """The comparison with its differences ranked."""
    found = [
        *(_setting(one, compared) for one in compared.settings.relevant),
        *(_code(one, compared) for one in compared.code.changed),
        *(_environment(one, compared) for one in compared.environment.changed if _is_own(one, compared)),
        *_restarts(compared),
    ]
    found.sort(key=lambda one: (not one.can_act, -one.weight))
    return replace(compared, suspects=tuple(found))


def _setting(one: SettingDifference, compared: Comparison) -> Suspect:
    places = tuple(place for place in (one.bad_where, one.good_where) if place is not None)
    why: list[str] = []
    weight = NAMED if one.quantity else PLAIN
    part = _parting_step(compared)
    late = one.acts_from is not None and part is not None and one.acts_from > part
    if one.idle:
        why.append(one.idle)
    if late:
        why.append(f"it makes no difference before step {one.acts_from:,}, and the runs part at {part:,}")
    weight += _pointed_at(places, compared, why)
    weight += _shown_by_the_first(one.quantity, compared, why)
    return Suspect(
        f"{one.key}: {_said(one.good)} -> {_said(one.bad)}",
        "setting",
        not one.idle and not late,
        tuple(why),
        places,
        weight,
    )


def _said(value: object) -> str:
    if value is None:
        return "not set"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _code(one: CodeDifference, compared: Comparison) -> Suspect:
    places = tuple(place for place in (one.bad_where, one.good_where) if place is not None)
    why: list[str] = []
    weight = PLAIN + _pointed_at(places, compared, why)
    first = compared.signals.first
    only_measured = first is None or first.name.startswith("val/")
    idle = one.measures_only and not only_measured
    if idle:
        why.append("by its name it is about validation, logging or saving, and a training signal parts first")
    return Suspect(f"{one.name} {one.what}", "code", not idle, tuple(why), places, weight)


def _environment(one: EnvironmentDifference, compared: Comparison) -> Suspect:
    places = tuple(place for place in (one.bad_where, one.good_where) if place is not None)
    return Suspect(f"{one.what}: {one.good} -> {one.bad}", "environment", True, (), places, MACHINE)


def _is_own(one: EnvironmentDifference, compared: Comparison) -> bool:
    """Whether a difference around the runs is not told by a setting already; a commit is told by its code."""
    quantities = {setting.quantity for setting in compared.settings.relevant}
    told_by_code = one.what == "commit" and not compared.code.unknown
    return one.what not in quantities and not told_by_code and one.what != "command line"


def _restarts(compared: Comparison) -> Iterator[Suspect]:
    """A restart of the bad run that no good run has, where it comes before the parting or at it."""
    ours = restarts.measure(compared.bad.run).steps
    theirs = {step for one in compared.goods for step in restarts.measure(one.run).steps}
    part = _parting_step(compared)
    first = compared.signals.first
    for step in ours:
        if step in theirs or part is None or first is None or first.part is None:
            continue
        near = step <= first.part.sure
        why = () if near else (f"it comes after the parting at step {part:,}",)
        yield Suspect(f"the bad run was restarted at step {step:,}", "restart", near, why, (), NAMED)


def _parting_step(compared: Comparison) -> int | None:
    first = compared.signals.first
    return first.part.sure if first is not None and first.part is not None else None


def _pointed_at(places: tuple[Where, ...], compared: Comparison, why: list[str]) -> float:
    """More weight for what a finding of the bad run alone points at."""
    pointing = [
        found
        for found in compared.findings.only_bad
        if any(_lies_in(address, place) for address in found.finding.places for place in places)
    ]
    for found in pointing[:1]:
        why.append(f"{found.rule.code} {found.rule.name} points at it, in the bad run alone")
    return POINTED_AT if pointing else 0.0


def _lies_in(address: Where, place: Where) -> bool:
    """Whether an address is a line of a place, which may be a whole function."""
    if address.line is None or place.line is None or address.file != place.file:
        return False
    return place.line <= address.line <= (place.end[0] if place.end else place.line)


def _shown_by_the_first(quantity: str, compared: Comparison, why: list[str]) -> float:
    first = compared.signals.first
    if first is None or not quantity:
        return 0.0
    for start, known in _LEADS.items():
        if first.name.startswith(start) and quantity in known:
            why.append(f"{first.name} is the first to part, and this is what sets it")
            return SHOWN_BY_THE_FIRST
    return 0.0


def harms(name: str, higher: bool | None) -> bool | None:
    """Whether lying above is worse for a signal; None where that is not known."""
    direction = better(name)
    if direction is None or higher is None:
        return None
    return higher is (direction == "lower")
