"""A comparison in sentences, the same in every format."""

from __future__ import annotations

from stethoscope.compare.comparison import (
    Comparison,
    EnvironmentDifference,
    SettingDifference,
    Signal,
    Suspect,
)
from stethoscope.compare.parting import How
from stethoscope.compare.suspects import harms
from stethoscope.report.words import count, listed, number

LONGEST_LIST = 8
NOT_TOLD = "not told"


def names(compared: Comparison) -> tuple[str, str]:
    """What the two sides are called: the runs' names, told apart where they are the same."""
    good, bad = compared.goods[0].run, compared.bad.run
    more = f" and {len(compared.goods) - 1:,} more" if len(compared.goods) > 1 else ""
    left, right = (good.name, bad.name) if good.name != bad.name else (good.path, bad.path)
    return left + more, right


def headline(compared: Comparison) -> str:
    """Whether the runs part, where, and in what first."""
    good, bad = names(compared)
    signals, first = compared.signals, compared.signals.first
    if first is not None and first.part is not None:
        return f"{bad} parts from {good} at step {first.part.step:,}: {in_words(first)}."
    if signals.identical:
        return f"{bad} and {good} tell the same values, digit for digit, up to their last common step."
    over = f" over steps {signals.steps[0]:,} to {signals.steps[1]:,}" if signals.steps else ""
    many = count(len(signals.compared), "signal")
    return f"{bad} does not part from {good}{over}: {many} differ by no more than noise."


def in_words(signal: Signal) -> str:
    """How a signal parts."""
    part = signal.part
    if part is None:
        return f"{signal.name} does not part"
    if part.how is How.NOT_FINITE:
        return f"{signal.name} is {number(part.bad)} there, {number(part.good)} in the good run"
    side = "higher" if part.higher else "lower"
    worse = {True: ", which is worse", False: ", which is better", None: ""}[harms(signal.name, part.higher)]
    values = f"{number(part.bad)} against {number(part.good)} at step {part.sure:,}"
    if part.how is How.SET_OTHERWISE:
        return f"{signal.name} is set {side}, {values}"
    return f"{signal.name} lies {side}{worse}, {values}, from where it is sure"


def equality(compared: Comparison) -> str:
    """Up to where the runs are equal, and what that tells; "" where they are not."""
    signals = compared.signals
    if signals.identical or signals.identical_until is None:
        return ""
    return (
        f"Every measured value is the same, digit for digit, up to step {signals.identical_until:,}: "
        "the runs had the same weights, data and seed until then, and what differs acts from there on."
    )


def verdict_on_differences(compared: Comparison) -> str:
    """What the differences can explain, in one sentence."""
    only = compared.only_one
    able = [one for one in compared.suspects if one.can_act]
    if only is not None:
        return f"The only difference that reaches the loop is {only.what}."
    if able and compared.parts:
        unknown = "" if compared.everything_known else f" ({unknowns(compared)})"
        return f"{count(len(able), 'difference')} can act before the runs part, the likeliest first{unknown}."
    if able:
        return f"{count(len(able), 'difference')} could act, and none shows."
    if compared.everything_known and compared.parts:
        said = " The seeds differ." if compared.settings.seeds else ""
        return f"Nothing that was found to differ can explain it.{said}"
    return f"Nothing was found to differ{f', but {unknowns(compared)}' if unknowns(compared) else ''}."


def unknowns(compared: Comparison) -> str:
    """What was not there to be compared."""
    return "; ".join(filter(None, (compared.settings.unknown, compared.code.unknown)))


def folded(compared: Comparison) -> str:
    """What is the same, and what differs and cannot matter."""
    settings, code, environment = compared.settings, compared.code, compared.environment
    parts = []
    if not settings.unknown:
        parts.append(f"{count(settings.same, 'setting')} the same")
    if settings.folded:
        keys = listed([one.key for one in settings.folded], LONGEST_LIST)
        many = count(len(settings.folded), "name, path or seed", "names, paths and seeds")
        parts.append(f"{many} folded away ({keys})")
    if not code.unknown:
        changed = f", {count(code.reformatted, 'file')} differ in form only" if code.reformatted else ""
        parts.append(f"{count(code.files, 'source file')} compared{changed}")
    if environment.same:
        parts.append(f"{count(environment.same, 'fact')} about packages and machine the same")
    return "; ".join(parts)


def setting_value(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return "not set"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def effects(one: SettingDifference) -> str:
    """What takes place on both sides, where that is known and is not what was asked for."""
    if not one.good_effect and not one.bad_effect:
        return ""
    return f"in effect: {one.good_effect or 'unknown'} and {one.bad_effect or 'unknown'}"


def told(one: EnvironmentDifference) -> tuple[str, str]:
    """Both sides of a difference around the runs."""
    return one.good or NOT_TOLD, one.bad or NOT_TOLD


def reasons(suspect: Suspect) -> str:
    """What speaks for or against a difference."""
    return "; ".join(suspect.why)


def left_out(compared: Comparison) -> list[str]:
    """The signals that were not compared, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in compared.signals.left_out:
        by_reason.setdefault(why, []).append(name)
    return [f"{listed(named, LONGEST_LIST)} ({why})" for why, named in by_reason.items()]
