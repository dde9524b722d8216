"""Pages that are alive: what changed is sent as server-sent events, and nothing else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from stethoscope.dashboard.changes import Shown, difference
from stethoscope.dashboard.dashboard import Dashboard
from stethoscope.dashboard.following import Followed
from stethoscope.dashboard.listing import Query, listed
from stethoscope.dashboard.pages import run as run_page
from stethoscope.dashboard.pages import runs as runs_page
from stethoscope.dashboard.register import Row

TICK_SECONDS = 0.1
LIST_SECONDS = 0.5  # between two looks at a list that changes
SIGN_OF_LIFE_SECONDS = 15.0
AGAIN_SECONDS = 60.0  # a list that does not change still has runs that fall silent


async def of_list(dashboard: Dashboard, query: Query) -> AsyncIterator[str]:
    """The rows of a page of the list that changed, and the order of all of them."""
    sent: dict[str, Any] = {}
    seen, looked, spoke = -1, 0.0, time.monotonic()
    while not dashboard.closing:
        now = time.monotonic()
        version = dashboard.register.version
        if version != seen or now - looked > AGAIN_SECONDS:
            seen, looked = version, now
            whole = _list_now(dashboard, query)
            told = _changed(sent, whole)
            if told:
                yield event(told)
                sent, spoke = whole, now
        elif now - spoke > SIGN_OF_LIFE_SECONDS:
            yield ": alive\n\n"
            spoke = now
        await asyncio.sleep(LIST_SECONDS)


async def of_run(dashboard: Dashboard, row: Row, followed: Followed | None, have: int) -> AsyncIterator[str]:
    """What changes in the report on a run, from the version that the page has."""
    if followed is None:
        yield event({"trouble": "Too many runs are open in other pages; this one does not go on by itself."})
        return
    followed.readers += 1
    sent, seen, spoke = Shown(), 0, time.monotonic()
    if have and have == followed.version and followed.look is not None:
        sent, seen = followed.look.shown, have
    try:
        while not dashboard.closing:
            now = time.monotonic()
            if not followed.alive:
                yield event({"trouble": "This run cannot be followed any more; load the page again."})
                return
            version, look = followed.version, followed.look
            if look is not None and version != seen:
                told = difference(sent, look.shown)
                if "status" in told:
                    told["status"] = str(run_page.status(look.shown))
                if told:
                    yield event(told | {"version": version})
                    spoke = now
                sent, seen = look.shown, version
                if look.summary is not None:
                    dashboard.register.learn(row.number, row.stamp, look.summary)
            elif now - spoke > SIGN_OF_LIFE_SECONDS:
                yield ": alive\n\n"
                spoke = now
            await asyncio.sleep(TICK_SECONDS)
    finally:
        followed.readers -= 1
        followed.asked = time.monotonic()


def event(told: dict[str, Any]) -> str:
    """A message as the stream has it."""
    return f"data: {json.dumps(told, separators=(',', ':'))}\n\n"


def _list_now(dashboard: Dashboard, query: Query) -> dict[str, Any]:
    now = time.time()
    listing = listed(dashboard.register.rows(), query, now)
    return {
        "banner": str(runs_page.banner(dashboard.register.progress())),
        "count": str(runs_page.summary(listing)),
        "pages": str(runs_page.pages(listing)),
        "choices": {name: str(part) for name, part in runs_page.choices(listing).items()},
        "rows": {f"run-{one.number}": str(runs_page.row(one, now)) for one in listing.rows},
    }


def _changed(sent: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    told = {name: part for name, part in whole.items() if name != "rows" and sent.get(name) != part}
    before = sent.get("rows", {})
    if before != whole["rows"] or not sent:
        told["order"] = list(whole["rows"])
        told["rows"] = {key: row for key, row in whole["rows"].items() if before.get(key) != row}
    return told
