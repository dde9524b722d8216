"""The list for programs."""

from __future__ import annotations

from typing import Any

from stethoscope.dashboard.listing import Listing, verdict_of
from stethoscope.dashboard.register import Progress, Row

SCHEMA = 1


def listing_told(listing: Listing, progress: Progress, now: float) -> dict[str, Any]:
    """A page of the list, in the order of the page."""
    return {
        "schema": SCHEMA,
        "runs": [_row(row, now) for row in listing.rows],
        "page": listing.query.page,
        "pages": listing.pages,
        "fitting": listing.fits,
        "all": listing.runs,
        "verdicts": dict(listing.verdicts),
        "progress": {"examined": progress.examined, "runs": progress.runs, "looked": progress.looked},
        "trouble": progress.trouble or None,
        "not_read": list(progress.notes),
    }


def _row(row: Row, now: float) -> dict[str, Any]:
    summary = row.summary
    return {
        "id": row.number,
        "path": row.inside.encode("utf-8", errors="backslashreplace").decode("utf-8"),
        "verdict": verdict_of(row),
        "causes": [
            {"name": c.name, "title": c.title, "probability": round(c.probability, 4), "verdict": c.standing}
            for c in (summary.causes if summary else ())
        ],
        "step": summary.last_step if summary else None,
        "ended": summary.ended if summary else None,
        "next": (summary.next or None) if summary else None,
        "written": row.written,
        "going": row.goes_on(now),
        "error": (summary.error or None) if summary else None,
    }
