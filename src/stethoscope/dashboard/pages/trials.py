"""The results of trials: what each change brought, in how many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stethoscope.dashboard.pages.frame import Frame, notice
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined
from stethoscope.report.html.tables import table
from stethoscope.report.words import count

Told = dict[str, Any]
Result = tuple[str, Told | str]  # its path, and what it tells or why it tells nothing

GOOD = frozenset({"necessary", "sufficient", "helpful"})
BAD = frozenset({"harmful", "changes the yardstick", "cannot be applied"})


def page(frame: Frame, results: Sequence[Result]) -> str:
    """Every trial below the folder."""
    shown = [_trial(path, told) for path, told in results]
    command = element("code", "stethoscope trial")
    none = notice(joined("There is no result of a trial in this folder; ", command, " writes them."))
    return frame.page("Trials", element("h1", "Trials"), *(shown or [none]), at="/trials")


def _trial(path: str, told: Told | str) -> Markup:
    heading = element("h2", element("bdi", one_line(path, 160)))
    if isinstance(told, str):
        return element("section", heading, notice(told, kind="bad"))
    try:
        return element("section", heading, _result(told), class_="trial")
    except (KeyError, TypeError, AttributeError, ValueError):
        return element("section", heading, notice("This result is not whole.", kind="bad"))


def _result(told: Told) -> Markup:
    metric = told["metric"]
    better = "higher is better" if metric["goal"] == "max" else "lower is better"
    seeds = count(len(told["seeds"]), "seed")
    cut = NOTHING if told["complete"] else notice("Runs are missing: the trial was cut short.", kind="bad")
    placebo = [told["placebo"]] if told.get("placebo") else []
    return joined(
        element("p", f"{one_line(told['name'])}: {one_line(metric['name'])} ({better}), {seeds}."),
        cut,
        table(
            ("change", "verdict", "alone", "beside the others", "why"),
            [_change(one) for one in (*told["changes"], *placebo)],
        ),
        element(
            "details",
            element("summary", count(len(told["arms"]), "arm")),
            table(("arm", "mean", "sd", "runs", "failed"), [_arm(one) for one in told["arms"]]),
        ),
        element("ul", [element("li", one_line(note)) for note in told["notes"]])
        if told["notes"]
        else NOTHING,
    )


def _change(one: Told) -> tuple[Child, ...]:
    classes = [str(name) for name in one["classes"]]
    kind = "good" if GOOD.intersection(classes) else "bad" if BAD.intersection(classes) else ""
    return (
        one_line(one["name"], 80),
        element("strong", " and ".join(classes), class_=kind),
        _effect(one.get("alone")),
        _effect(one.get("within")),
        one_line(one["why"], 400),
    )


def _effect(told: Told | None) -> str:
    if not told:
        return ""
    mean, low, high = (told.get(name) for name in ("mean", "low", "high"))
    if mean == low == high == 0:
        return "0"
    if not isinstance(mean, int | float) or not math.isfinite(mean):
        return ""
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return f"{mean:+.3g}"
    return f"{mean:+.3g} ({low:+.3g} to {high:+.3g})"


def _arm(one: Told) -> tuple[Child, ...]:
    return (
        one_line(one["name"], 80),
        _figure(one.get("mean")),
        _figure(one.get("sd")),
        str(one.get("runs", "")),
        str(one.get("failed") or ""),
    )


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else ""
