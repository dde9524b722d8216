"""Two runs side by side: where they part, what differs and can act, and the curves of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from stethoscope.compare.comparison import Comparison, Signal, Suspect
from stethoscope.dashboard.pages.frame import notice
from stethoscope.findings import Found
from stethoscope.report import compare_words as words
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import of_chart
from stethoscope.report.html.curve_data import curve_data
from stethoscope.report.html.diffs import highlighted
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined
from stethoscope.report.html.places import Atlas, places
from stethoscope.report.html.tables import table
from stethoscope.report.plot import LOG_FROM
from stethoscope.run import Series

MOST_CHARTS = 8
COLUMNS = 500
LONGEST_NAME = 80
NO_PLACES = Atlas()


def title(compared: Comparison) -> str:
    """What the page is called."""
    good, bad = words.names(compared)
    return f"{one_line(bad, LONGEST_NAME)} against {one_line(good, LONGEST_NAME)}"


def content(compared: Comparison) -> Markup:
    """The comparison, its most important sentence first."""
    return joined(
        element("h1", title(compared)),
        element("p", words.headline(compared), class_="roots"),
        *_sentences(words.equality(compared), words.verdict_on_differences(compared)),
        _curves(compared),
        _differences(compared, "What differs and can act", True),
        _differences(compared, "What differs and cannot explain it", False),
        _settings(compared),
        _found("Found in the bad run only", compared.findings.only_bad),
        _found("Found in the good run only", compared.findings.only_good),
        *_sentences(words.folded(compared), compared.code.note),
    )


def charts(compared: Comparison) -> list[dict[str, Any]]:
    """What is drawn: each signal of both runs in one chart, the first to part first."""
    drawn = compared.signals.compared[:MOST_CHARTS]
    return [_chart(at, one, compared) for at, one in enumerate(drawn, start=1)]


def _chart(at: int, signal: Signal, compared: Comparison) -> dict[str, Any]:
    names = words.names(compared)
    both = (compared.goods[0].run.series[signal.name], compared.bad.run.series[signal.name])
    part = signal.part
    marks = [] if part is None else [_mark(part.step, signal)]
    steps = [] if part is None else [part.step, part.sure]
    return {
        "id": of_chart(at),
        "title": one_line(signal.name, LONGEST_NAME),
        "axis": both[1].axis,
        "log": _wants_log(both),
        "curves": [
            {"name": one_line(name, LONGEST_NAME), **curve_data(series, COLUMNS, steps)}
            for name, series in zip(names, both, strict=True)
        ],
        "marks": marks,
        "regimes": [],
        "namesRegimes": False,
        "saved": [],
    }


def _mark(step: int, signal: Signal) -> dict[str, Any]:
    said = one_line(words.in_words(signal), 200)
    return {"step": step, "kind": "onset", "short": "parts", "title": said, "to": "differences"}


def _wants_log(both: tuple[Series, Series]) -> bool:
    values = np.concatenate([series.finite().values for series in both])
    return bool(len(values)) and float(values.min()) > 0 and values.max() / LOG_FROM >= values.min()


def _curves(compared: Comparison) -> Markup:
    figures = [
        element(
            "figure",
            element("figcaption", element("strong", one_line(one.name, LONGEST_NAME))),
            element("div", class_="plot", data_chart=of_chart(at)),
            element(
                "p", f"{one_line(words.in_words(one), 300)}.", class_="note", id=f"{of_chart(at)}-summary"
            ),
            id=of_chart(at),
            class_="chart",
            tabindex="-1",
        )
        for at, one in enumerate(compared.signals.compared[:MOST_CHARTS], start=1)
    ]
    if not figures:
        return notice("The two runs have no signal in common that could be compared.")
    left = [(name, why) for name, why in compared.signals.left_out]
    return element(
        "section",
        element("h2", "Curves"),
        element("div", figures, class_="charts"),
        _folded("Not compared", table(("signal", "why"), left)) if left else NOTHING,
    )


def _differences(compared: Comparison, heading: str, can_act: bool) -> Markup:
    every = [one for one in compared.suspects if one.can_act is can_act]
    if not every:
        return NOTHING
    rows = element("ul", [element("li", _difference(one, compared)) for one in every])
    return element("section", element("h2", heading), rows, id="differences" if can_act else None)


def _difference(one: Suspect, compared: Comparison) -> list[Child]:
    said = f": {one_line('; '.join(one.why), 600)}" if one.why else ""
    parts: list[Child] = [element("span", one.kind, class_="kind"), " ", element("strong", one.what), said]
    parts.append(places(one.where, NO_PLACES))
    parts += [
        highlighted(code.diff)
        for code in compared.code.changed
        if one.kind == "code" and one.what == f"{code.name} {code.what}" and code.diff
    ]
    return parts


def _settings(compared: Comparison) -> Markup:
    rows = [
        (
            element("code", one.key),
            words.setting_value(one.good),
            words.setting_value(one.bad),
            one.idle or words.effects(one),
        )
        for one in compared.settings.relevant
    ]
    if not rows:
        return NOTHING
    return element(
        "section", element("h2", "Settings"), table(("setting", "good", "bad", "what comes of it"), rows)
    )


def _found(heading: str, every: tuple[Found, ...]) -> Markup:
    if not every:
        return NOTHING
    rows = [
        element(
            "li",
            element("span", one.severity.value, class_=f"severity {one.severity.value}"),
            " ",
            element("strong", f"{one.rule.code} {one.rule.name}"),
            f": {one_line(one.finding.message)}",
            places(one.finding.places, NO_PLACES),
        )
        for one in every
    ]
    return element("section", element("h2", heading), element("ul", rows, class_="findings"))


def _folded(heading: str, inside: Markup) -> Markup:
    return element("details", element("summary", heading), inside)


def _sentences(*said: str) -> list[Markup]:
    return [element("p", one) for one in said if one]
