"""One run: the report, which goes on while the run does, and what can be done about it."""

from __future__ import annotations

from stethoscope.dashboard.changes import Shown
from stethoscope.dashboard.pages.frame import Frame, moment, notice
from stethoscope.dashboard.register import Row
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import CHARTS
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined

LONGEST_NAME = 120


def page(frame: Frame, row: Row, shown: Shown, version: int) -> str:
    """The page as far as the run is known; what comes later is sent to it."""
    before, curves, after = parted(shown)
    return frame.page(
        shown.title or one_line(row.inside, LONGEST_NAME),
        element("div", status(shown), id="status", role="status", aria_live="off"),
        _ways(row),
        element("div", before or _waiting(row), id="before"),
        element("div", curves, id="report"),
        element("div", after, id="after"),
        _applying(frame),
        script="run.js",
        charts=list(shown.charts),
        skip="before",
        told={"run": row.number, "version": version},
    )


def gone(frame: Frame, name: str = "") -> str:
    """There is no such run, or none any more."""
    said = f"{name} is not there any more." if name else "There is no such run in this folder."
    return frame.page("Not found", element("h1", "Not found"), notice(said), _back())


def failed(frame: Frame, title: str, why: str) -> str:
    """Something could not be done, in a sentence."""
    return frame.page(title, element("h1", title), notice(one_line(why, 1000), kind="bad"), _back())


def parted(shown: Shown) -> tuple[Markup, Markup, Markup]:
    """The blocks before the curves, the curves, and the blocks after them."""
    names = list(shown.blocks)
    at = names.index(CHARTS) if CHARTS in names else len(names)
    before, after = names[:at], names[at + 1 :]
    curves = _block(shown, CHARTS) if CHARTS in names else NOTHING
    return joined(*(_block(shown, n) for n in before)), curves, joined(*(_block(shown, n) for n in after))


def status(shown: Shown) -> Markup:
    """How far the run is, whether it goes on, and what hinders."""
    told = shown.status
    parts: list[Child] = []
    if told.get("waiting"):
        parts.append(notice(f"{told['waiting']} What is shown is as it was last seen.", kind="bad"))
    if told.get("problem"):
        parts.append(notice(str(told["problem"]), kind="bad"))
    if told.get("progress"):
        state = "over" if told.get("over") else "stands still" if told.get("stalled") else "live"
        judged = joined(", judged ", moment(float(told["judged"]))) if told.get("judged") else NOTHING
        parts.append(
            element(
                "p",
                element("span", state, class_=f"going {state}"),
                f" {told['progress']}",
                judged,
                class_="faint",
            )
        )
    for alert in told.get("alerts", ()):
        parts.append(element("p", moment(float(alert["at"])), f": {alert['said']}", class_="alert"))
    return joined(*parts)


def _block(shown: Shown, name: str) -> Markup:
    return element("div", Markup(shown.blocks[name]), data_block=name)


def _waiting(row: Row) -> Markup:
    return joined(
        element("h1", element("bdi", one_line(row.inside, LONGEST_NAME))),
        notice("Being examined ..."),
    )


def _applying(frame: Frame) -> Markup:
    if frame.read_only:
        said = notice("This dashboard is read-only: what is prescribed is shown and not written.")
        return element("section", element("h2", "Apply the prescription"), said, id="apply")
    return element(
        "section",
        element("h2", "Apply the prescription"),
        element("p", "What would be written is shown first, and written when you say so."),
        element("button", "Show what would be written", type="button", id="show-plan"),
        element("p", id="applied", role="status"),
        element(
            "dialog",
            element("h2", "Write these changes?", id="plan-title"),
            element("div", id="plan"),
            element(
                "div",
                element("button", "Write them", type="button", id="confirm", class_="danger"),
                " ",
                element("button", "Cancel", type="button", id="cancel"),
                class_="actions",
            ),
            id="dialog",
            aria_labelledby="plan-title",
        ),
        id="apply",
        tabindex="-1",
        class_="scripted-only",
    )


def _ways(row: Row) -> Markup:
    return element(
        "nav",
        element("a", "Apply the prescription", href="#apply"),
        element("a", "Review a document about this run", href=f"/review?run={row.number}"),
        element("a", "JSON", href=f"/run/{row.number}.json"),
        class_="from-here",
        aria_label="From here",
    )


def between(good: Row, bad: Row) -> Markup:
    """The ways from two runs that are compared."""
    links = [
        element(
            "a",
            f"The {side} run: ",
            element("bdi", one_line(row.inside, LONGEST_NAME)),
            href=f"/run/{row.number}",
        )
        for side, row in (("good", good), ("bad", bad))
    ]
    turned = element("a", "The other way round", href=f"/compare?good={bad.number}&bad={good.number}")
    return element("nav", *links, turned, class_="from-here", aria_label="From here")


def _back() -> Markup:
    return element("p", element("a", "All runs", href="/"))
