"""Weight decay forgets the weights within a few updates.

## What it checks
Rate times decay is the share of every weight that one update takes away; with momentum it acts 1 / (1 -
momentum) times as strongly. Its inverse is how many updates a weight is remembered for. The rule fires where
that is less than 150. The numbers come from the settings, or from the source where they are written there.
Where the decay is one that recipes use and the rate is far above what they use, it is the rate that is to
blame, and the finding says so.

## Why it matters
A weight is then only what the last few batches push it to: it cannot grow to the size that the task needs.
The loss stays near that of guessing, and neither more steps nor another schedule helps.

## When it is harmless
Usual recipes remember for hundreds of updates and more: .1 x 5e-4 with a momentum of .9 for 2,000, AdamW
with 1e-3 x .1 for 10,000. Adam without decoupled decay divides it with the gradient, and is left alone. A
decay that the optimizer is not told of takes nothing away: decay-left-out says so.

## References
- Loshchilov and Hutter, "Decoupled weight decay regularization", 2019
- Wang and Aitchison, "How to set AdamW's weight decay as you scale model and dataset size", 2024
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.settings.training_amounts import NONE
from stethoscope.signals.editable_files import EditableFiles
from stethoscope.signals.training_plan import CODE, TrainingPlan

RULE = Rule(code="SET124", since="0.2", severity=Severity.WARNING, subject=Subject.SETTINGS)

FEWEST = 150.0  # updates; the fastest recipes remember for 300, most for thousands
USUAL = 2_000.0  # updates that the fix lets weights be remembered for
WRITTEN = ("weight decay", "learning rate")
# What recipes go up to: decoupled decay .3 at rates of 1e-2; with plain steps 5e-3 at 1.
MOST_DECAY, MOST_RATE = 0.3, 0.01
MOST_DECAY_PLAIN, MOST_RATE_PLAIN = 5e-3, 1.0
COUPLED = frozenset({"adam", "adagrad", "rmsprop", "adamax", "nadam", "radam"})


def examine(plan: TrainingPlan, files: EditableFiles | None) -> Iterator[Finding]:
    """Fire where a weight is forgotten within 150 updates."""
    if _is_coupled(plan) or _is_left_out(plan):
        return
    decay, rate = plan["weight decay"].only(), plan["learning rate"].only()
    if decay is None or rate is None:
        yield from _as_written(plan)
        return
    if not decay.amount.number or not rate.amount.number:
        return
    carried = 1.0 - _momentum(plan)
    remembered = carried / (decay.amount.number * rate.amount.number)
    if remembered >= FEWEST:
        return
    gentle = float(f"{carried / (USUAL * rate.amount.number):.1g}")
    yield Finding(
        (decay.setting.where, rate.setting.where),
        _said(decay.name, decay.amount.number, rate.amount.number, remembered),
        evidence=_evidence(plan, decay.amount.number, rate.amount.number, remembered),
        fix=None
        if files is None or _is_by_rate(plan, decay.amount.number, rate.amount.number)
        else files.with_value(decay.setting, gentle, "let weights be remembered"),
    )


def _as_written(plan: TrainingPlan) -> Iterator[Finding]:
    """The same for numbers that stand in the source, where no setting has anything to do with them."""
    if plan["weight decay"].asked or plan["learning rate"].asked:
        return
    decays, rates = (
        {one.amount.number: one for one in plan[name].in_effect if one.how == CODE} for name in WRITTEN
    )
    if len(decays) != 1 or len(rates) != 1:
        return
    (decay, made), (rate, _) = *decays.items(), *rates.items()
    if decay and rate and 1.0 / (decay * rate) < FEWEST:
        yield Finding(
            made.where,
            _said("weight decay", decay, rate, 1.0 / (decay * rate)),
            evidence=_evidence(plan, decay, rate, 1.0 / (decay * rate)),
        )


def _evidence(plan: TrainingPlan, decay: float, rate: float, remembered: float) -> dict[str, float | bool]:
    by_rate = _is_by_rate(plan, decay, rate)
    return {"decay": decay, "rate": rate, "remembered": remembered, "by_rate": by_rate}


def _is_by_rate(plan: TrainingPlan, decay: float, rate: float) -> bool:
    """Whether the decay is a usual one and the rate is not."""
    if _is_plain(plan):
        return decay <= MOST_DECAY_PLAIN and rate > MOST_RATE_PLAIN
    return decay <= MOST_DECAY and rate > MOST_RATE


def _said(name: str, decay: float, rate: float, remembered: float) -> str:
    return (
        f"{name} is {decay:g} at a rate of {rate:g}: a weight is forgotten within "
        f"{max(1.0, remembered):,.0f} updates"
    )


def _is_coupled(plan: TrainingPlan) -> bool:
    """Whether the decay goes through the division of an adaptive optimizer."""
    asked = [one.amount.value for one in plan["optimizer"].asked]
    made = [one.amount.value for one in plan["optimizer"].in_effect]
    return any(str(value).lower() in COUPLED for value in (*asked, *made))


def _is_left_out(plan: TrainingPlan) -> bool:
    """Whether the optimizer that the source makes is not told of any decay."""
    return any(one.amount.value == NONE for one in plan["weight decay"].in_effect if one.how == CODE)


def _momentum(plan: TrainingPlan) -> float:
    given = [one.amount.number or 0.0 for one in plan["betas"].asked if one.amount.part == "momentum"]
    return given[0] if len(given) == 1 and _is_plain(plan) else 0.0


def _is_plain(plan: TrainingPlan) -> bool:
    """Whether the steps are those of gradient descent itself, divided by nothing."""
    asked = [one.amount.value for one in plan["optimizer"].asked]
    made = [one.amount.value for one in plan["optimizer"].in_effect]
    return any("sgd" in str(value).lower() for value in (*asked, *made))
