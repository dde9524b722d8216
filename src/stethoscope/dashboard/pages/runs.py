"""The list of all runs: who needs help stands on top."""

from __future__ import annotations

from collections.abc import Iterable

from stethoscope.dashboard.listing import FAILED, VERDICTS, WAITING, Listing, Query, verdict_of
from stethoscope.dashboard.pages.frame import Frame, field, moment, notice
from stethoscope.dashboard.register import Progress, Row
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined
from stethoscope.report.words import count, percent

LONGEST_NAME = 160
WORDS = {
    "sick": "sick",
    "at-risk": "at risk",
    "unknown": "no verdict",
    "healthy": "healthy",
    FAILED: "unreadable",
    WAITING: "waiting",
}
IN_ORDER = {"help": "who needs help", "newest": "last written", "name": "name"}


def page(frame: Frame, listing: Listing, progress: Progress, now: float) -> str:
    """The whole page, its first rows included: it is complete before any script runs."""
    return frame.page(
        "Runs",
        element("h1", "Runs", class_="unseen"),
        element("div", banner(progress), id="banner"),
        filters(listing),
        _comparing(),
        element("p", summary(listing), id="count", role="status"),
        table(listing, now),
        element("div", pages(listing), id="pages"),
        script="runs.js",
        at="/",
        skip="rows",
    )


def banner(progress: Progress) -> Markup:
    """How far the examination is, and what hinders it."""
    parts: list[Child] = []
    if progress.trouble:
        parts.append(notice(f"The folder cannot be looked at: {progress.trouble}.", kind="bad"))
    if not progress.looked:
        parts.append(notice("Looking for runs ..."))
    elif progress.examined < progress.runs:
        said = f"Examining: {progress.examined:,} of {progress.runs:,} runs"
        bar = element("progress", max=progress.runs, value=progress.examined, aria_label="Runs examined")
        parts.append(element("p", f"{said} ", bar, class_="notice"))
    elif not progress.runs and not progress.trouble:
        parts.append(notice("There is no run in this folder: no log in a format that is known."))
    if progress.notes:
        told = element("ul", [element("li", one) for one in progress.notes])
        parts.append(
            element("details", element("summary", f"{count(len(progress.notes), 'place')} not read"), told)
        )
    return joined(*parts)


def filters(listing: Listing) -> Markup:
    """What to search for. Without a script it is a form like any other."""
    query, offered = listing.query, choices(listing)
    return element(
        "form",
        _labelled(
            "Search",
            field(type="search", name="q", value=query.text, placeholder="path or cause", id="search"),
        ),
        _labelled("Verdict", element("select", offered["verdict"], name="verdict", data_choices="verdict")),
        _labelled("Cause", element("select", offered["cause"], name="cause", data_choices="cause")),
        _labelled("Order by", element("select", _options(query.order, IN_ORDER.items()), name="order")),
        element(
            "label",
            field(type="checkbox", name="going", value="1", checked=query.going),
            " ",
            element("span", offered["going"], data_choices="going"),
            class_="check",
        ),
        element("button", "Search", type="submit", class_="unscripted"),
        id="filters",
        role="search",
        action="/",
        method="get",
    )


def choices(listing: Listing) -> dict[str, Markup]:
    """What there is to choose from, and how many runs have it."""
    return {
        "verdict": _options(listing.query.verdict, _verdicts(listing)),
        "cause": _options(listing.query.cause, _causes(listing)),
        "going": joined(f"still going ({listing.going:,})"),
    }


def summary(listing: Listing) -> Markup:
    """How many runs fit, and of which kind they are; where none does, the way back to all."""
    if not listing.runs:
        return NOTHING
    if not listing.fits:
        every = f"all {listing.runs:,} runs" if listing.runs > 1 else "the only run"
        return joined("No run fits what is asked for. ", element("a", f"Show {every}", href="/"))
    kinds = [f"{listing.fitting[one]:,} {WORDS[one]}" for one in VERDICTS if listing.fitting.get(one)]
    fitting = "" if listing.fits == listing.runs else f"{listing.fits:,} of "
    return joined(f"{fitting}{count(listing.runs, 'run')}: {', '.join(kinds)}")


def table(listing: Listing, now: float) -> Markup:
    """The rows of a page."""
    heads = ("", "verdict", "run", "probable cause", "last step", "last written")
    names = [
        element("th", name or element("span", "compare", class_="unseen"), scope="col") for name in heads
    ]
    rows = [row(one, now) for one in listing.rows]
    return element(
        "table",
        element("thead", element("tr", names)),
        element("tbody", rows, id="rows", tabindex="-1"),
        class_="runs",
        aria_label="Runs",
    )


def row(one: Row, now: float) -> Markup:
    """One run in a line."""
    verdict = verdict_of(one)
    name = one_line(one.inside, LONGEST_NAME)
    box = field(type="checkbox", value=one.number, aria_label=f"Compare {name}", class_="pick")
    badge = element("span", WORDS.get(verdict, verdict), class_=f"badge {verdict}")
    going = element("span", "going", class_="going") if one.goes_on(now) else NOTHING
    return element(
        "tr",
        element("td", box),
        element("td", badge, " ", going),
        element("td", element("a", element("bdi", name), href=f"/run/{one.number}"), class_="name"),
        element("td", _said(one)),
        element("td", _step(one), class_="figure"),
        element("td", moment(one.written), class_="figure"),
        id=f"run-{one.number}",
    )


def pages(listing: Listing) -> Markup:
    """The way to the other pages of the list."""
    query = listing.query
    if listing.pages < 2:
        return NOTHING
    parts: list[Child] = []
    if query.page > 1:
        parts.append(_page(query, query.page - 1, "Previous"))
    parts.append(f" page {query.page:,} of {listing.pages:,} ")
    if query.page < listing.pages:
        parts.append(_page(query, query.page + 1, "Next"))
    return element("nav", *parts, aria_label="Pages of the list")


def _page(query: Query, number: int, said: str) -> Markup:
    return element("a", said, href=f"/?{query.address(page=number)}", data_page=str(number))


def _said(one: Row) -> Markup:
    summary = one.summary
    if summary is None:
        return element("span", "not examined yet", class_="faint")
    if summary.error:
        return element("span", one_line(summary.error, 300), class_="faint")
    if not summary.causes:
        return joined("something is wrong; no cause is known" if summary.symptoms else "")
    first, *others = summary.causes
    sure = "proved" if first.standing == "proved" else f"{first.standing}, {percent(first.probability)}"
    more = element("span", f" and {len(others)} more", class_="faint") if others else NOTHING
    return joined(first.title, element("span", f" ({sure})", class_="faint"), more)


def _step(one: Row) -> str:
    if one.summary is None or one.summary.last_step is None:
        return ""
    return f"{one.summary.last_step:,}"


def _comparing() -> Markup:
    """Choose two runs; a script fills the words in."""
    return element(
        "form",
        element("span", "Choose two runs to compare.", id="chosen", role="status"),
        " ",
        element("button", "Compare", type="submit", disabled=True),
        id="comparing",
        action="/compare",
        method="get",
        class_="scripted-only",
    )


def _verdicts(listing: Listing) -> list[tuple[str, str]]:
    found = [
        (one, f"{WORDS[one]} ({listing.verdicts[one]:,})")
        for one in VERDICTS
        if listing.verdicts.get(one) or one == listing.query.verdict
    ]
    return [("", "any"), *found]


def _causes(listing: Listing) -> list[tuple[str, str]]:
    found = [(name, f"{title} ({many:,})") for name, (title, many) in listing.causes.items()]
    asked = listing.query.cause
    if asked and asked not in listing.causes:
        found.append((asked, f"{asked} (0)"))
    return [("", "any"), *found]


def _options(chosen: str, options: Iterable[tuple[str, str]]) -> Markup:
    return joined(
        *(element("option", said, value=value, selected=value == chosen) for value, said in options)
    )


def _labelled(name: str, control: Markup) -> Markup:
    return element("label", element("span", name), " ", control)
