"""Which runs the list shows, in which order: those who need help first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from stethoscope.dashboard.register import Row, State

PER_PAGE = 100
MOST_TEXT = 200
FAILED, WAITING = "unreadable", "waiting"
VERDICTS = ("sick", "at-risk", "unknown", "healthy", FAILED, WAITING)
ORDERS = ("help", "newest", "name")
# Who needs help: something is surely wrong, perhaps, nobody could look, nobody has looked, nothing is.
URGENCY = {"sick": 0, "at-risk": 1, "unknown": 2, FAILED: 3, WAITING: 4, "healthy": 6}
NOTHING_FOUND = 5  # no verdict, and nothing that speaks against health either


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody looks for: words of the path or the cause, a verdict, a cause, runs that still go on."""

    text: str = ""
    verdict: str = ""
    cause: str = ""
    going: bool = False
    order: str = ORDERS[0]
    page: int = 1

    def address(self, **changed: Any) -> str:
        """The query as the end of an address."""
        asked = replace(self, **changed)
        told = {
            "q": asked.text,
            "verdict": asked.verdict,
            "cause": asked.cause,
            "going": "1" if asked.going else "",
            "order": "" if asked.order == ORDERS[0] else asked.order,
            "page": str(asked.page) if asked.page > 1 else "",
        }
        return urlencode({key: value for key, value in told.items() if value})


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list: its rows, which runs fit in all, and how many of each kind there are.

    `fitting` counts the verdicts of the runs that fit, `verdicts` those of all.
    """

    query: Query
    rows: tuple[Row, ...]
    fitting: Mapping[str, int]
    runs: int
    verdicts: Mapping[str, int]
    causes: Mapping[str, tuple[str, int]]
    going: int

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.fits // PER_PAGE))

    @property
    def fits(self) -> int:
        """How many runs fit."""
        return sum(self.fitting.values())


def query_of(given: Mapping[str, str]) -> Query:
    """The query of an address; what makes no sense in it is left out."""
    page = given.get("page", "1")
    verdict, order = given.get("verdict", ""), given.get("order", "")
    return Query(
        given.get("q", "")[:MOST_TEXT],
        verdict if verdict in VERDICTS else "",
        given.get("cause", "")[:MOST_TEXT],
        given.get("going") == "1",
        order if order in ORDERS else ORDERS[0],
        int(page) if page.isdecimal() and 0 < len(page) < 6 and int(page) > 0 else 1,
    )


def listed(rows: Sequence[Row], query: Query, now: float) -> Listing:
    """The page of the list that a query asks for."""
    fitting = [row for row in rows if _fits(row, query, now)]
    pages = max(1, -(-len(fitting) // PER_PAGE))
    query = replace(query, page=min(query.page, pages))
    ordered = sorted(fitting, key=_order(query.order, now))
    first = (query.page - 1) * PER_PAGE
    return Listing(
        query,
        tuple(ordered[first : first + PER_PAGE]),
        Counter(verdict_of(row) for row in fitting),
        len(rows),
        Counter(verdict_of(row) for row in rows),
        _causes(rows),
        sum(row.goes_on(now) for row in rows),
    )


def verdict_of(row: Row) -> str:
    """The verdict on a run, or why there is none."""
    if row.state is State.WAITING:
        return WAITING
    if row.state is State.FAILED or row.summary is None:
        return FAILED
    return row.summary.verdict


def _fits(row: Row, query: Query, now: float) -> bool:
    if query.verdict and verdict_of(row) != query.verdict:
        return False
    causes = row.summary.causes if row.summary else ()
    if query.cause and not any(cause.name == query.cause for cause in causes):
        return False
    if query.going and not row.goes_on(now):
        return False
    said = " ".join([row.inside, *(f"{cause.name} {cause.title}" for cause in causes)]).casefold()
    return all(word in said for word in query.text.casefold().split())


def _order(order: str, now: float) -> Callable[[Row], tuple[object, ...]]:
    if order == "newest":
        return lambda row: (-row.written, row.inside)
    if order == "name":
        return lambda row: (row.inside,)
    return lambda row: (_urgency(row), not row.goes_on(now), -_chance(row), -row.written, row.inside)


def _urgency(row: Row) -> int:
    verdict = verdict_of(row)
    if verdict == "unknown" and row.summary is not None and not row.summary.symptoms:
        return NOTHING_FOUND
    return URGENCY.get(verdict, NOTHING_FOUND)


def _chance(row: Row) -> float:
    return row.summary.causes[0].probability if row.summary and row.summary.causes else 0.0


def _causes(rows: Iterable[Row]) -> dict[str, tuple[str, int]]:
    """The causes that are named, with their titles and how many runs have them, the most frequent first."""
    titles: dict[str, str] = {}
    count: Counter[str] = Counter()
    for row in rows:
        for cause in row.summary.causes if row.summary else ():
            titles[cause.name] = cause.title
            count[cause.name] += 1
    return {name: (titles[name], many) for name, many in count.most_common()}
