"""Which address gives which page. Every page has a JSON twin, and every change is a POST."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from stethoscope.dashboard import events
from stethoscope.dashboard.changes import Shown
from stethoscope.dashboard.dashboard import Dashboard
from stethoscope.dashboard.gate import Gate
from stethoscope.dashboard.joined import comparing, prescribing, reports, reviewing, trial_results
from stethoscope.dashboard.joined.answer import Answer
from stethoscope.dashboard.listing import listed, query_of
from stethoscope.dashboard.pages import plan, review, run, runs, trials
from stethoscope.dashboard.register import Row
from stethoscope.dashboard.rows_json import listing_told
from stethoscope.dashboard.static_files import static_files
from stethoscope.errors import NothingToRead, StethoscopeError
from stethoscope.report.html.markup import Markup
from stethoscope.report.plain_json import plain

FIRST_LOOK_SECONDS = 0.6  # that a page waits for a report before it is sent without one
LOOK_EVERY_SECONDS = 0.02
KEPT = {"cache-control": "private, max-age=86400"}
MOST_TRIALS = 50

Handler = Callable[[Dashboard, Request], Awaitable[Response]]


def application(dashboard: Dashboard, names: tuple[str, ...] = ()) -> Gate:
    """The whole application, behind its gate."""
    routes = [
        Route("/", _joined(dashboard, _runs)),
        Route("/runs.json", _joined(dashboard, _runs_json)),
        Route("/runs.events", _joined(dashboard, _runs_events)),
        Route("/run/{number}.json", _joined(dashboard, _run_json)),
        Route("/run/{number}.events", _joined(dashboard, _run_events)),
        Route("/run/{number}.plan", _joined(dashboard, _plan)),
        Route("/run/{number}", _joined(dashboard, _run)),
        Route("/run/{number}/apply", _joined(dashboard, _apply), methods=["POST"]),
        Route("/run/{number}/undo", _joined(dashboard, _undo), methods=["POST"]),
        Route("/compare", _joined(dashboard, _compare)),
        Route("/compare.json", _joined(dashboard, _compare)),
        Route("/review", _joined(dashboard, _review)),
        Route("/review.json", _joined(dashboard, _reviewed), methods=["POST"]),
        Route("/trials", _joined(dashboard, _trials)),
        Route("/trials.json", _joined(dashboard, _trials)),
        Route("/static/{name}", _static),
    ]
    missing: dict[Any, Any] = {404: _joined(dashboard, _not_found), 405: _joined(dashboard, _not_found)}
    return Gate(Starlette(routes=routes, exception_handlers=missing), dashboard.keys, names)


# --- the list


async def _runs(dashboard: Dashboard, request: Request) -> Response:
    now = time.time()
    listing = listed(dashboard.register.rows(), query_of(request.query_params), now)
    return HTMLResponse(runs.page(dashboard.frame, listing, dashboard.register.progress(), now))


async def _runs_json(dashboard: Dashboard, request: Request) -> Response:
    now = time.time()
    listing = listed(dashboard.register.rows(), query_of(request.query_params), now)
    return _json(listing_told(listing, dashboard.register.progress(), now))


async def _runs_events(dashboard: Dashboard, request: Request) -> Response:
    return _stream(events.of_list(dashboard, query_of(request.query_params)))


# --- one run


async def _run(dashboard: Dashboard, request: Request) -> Response:
    row = _row(dashboard, request)
    followed = dashboard.follow(row)
    until = time.monotonic() + FIRST_LOOK_SECONDS
    while followed is not None and followed.look is None and time.monotonic() < until:
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    look = followed.look if followed is not None else None
    shown, version = (look.shown, followed.version) if look and followed else (Shown(), 0)
    return HTMLResponse(run.page(dashboard.frame, row, shown, version))


async def _run_json(dashboard: Dashboard, request: Request) -> Response:
    row = _row(dashboard, request)
    return _json(await _asked(dashboard, reports.report_of, dashboard.house, row.inside))


async def _run_events(dashboard: Dashboard, request: Request) -> Response:
    row, have = _row(dashboard, request), request.query_params.get("have", "")
    version = int(have) if have.isdecimal() and len(have) < 12 else 0
    return _stream(events.of_run(dashboard, row, dashboard.follow(row), version))


async def _plan(dashboard: Dashboard, request: Request) -> Response:
    row = _row(dashboard, request)
    told = await _asked(dashboard, prescribing.prescribed, dashboard.house, row.inside)
    return _json(
        {
            "markup": str(plan.content(told)),
            "digest": told.digest,
            "writable": bool(told.changes) and not told.hindrance and not dashboard.read_only,
            "undo": list(told.undo),
            "undo_when": told.undo_when,
            "files": [change.file for change in told.changes],
        }
    )


async def _apply(dashboard: Dashboard, request: Request) -> Response:
    _must_be_writable(dashboard)
    row, told = _row(dashboard, request), await _body(request)
    digest = str(told.get("digest", ""))
    done = await _asked(dashboard, prescribing.apply, dashboard.house, row.inside, digest)
    return _json({"files": list(done.files), "when": done.when})


async def _undo(dashboard: Dashboard, request: Request) -> Response:
    _must_be_writable(dashboard)
    row = _row(dashboard, request)
    await _body(request)
    done = await _asked(dashboard, prescribing.undo, dashboard.house, row.inside)
    return _json({"files": list(done.files), "when": done.when})


# --- two runs, a document, the trials


async def _compare(dashboard: Dashboard, request: Request) -> Response:
    pair = [dashboard.register.row(request.query_params.get(side, "")) for side in ("good", "bad")]
    good, bad = pair
    if good is None or bad is None:
        raise NothingToRead("Choose two runs in the list.")
    answer: Answer = await _asked(dashboard, comparing.compared, dashboard.house, good.inside, bad.inside)
    if request.url.path.endswith(".json"):
        return _json(answer.told)
    inside = run.between(good, bad), Markup(answer.markup)
    page = dashboard.frame.page(answer.title, *inside, charts=answer.charts)
    return HTMLResponse(page)


async def _review(dashboard: Dashboard, request: Request) -> Response:
    run_asked = request.query_params.get("run", "")
    register = dashboard.register
    return HTMLResponse(review.page(dashboard.frame, register.documents, register.rows(), run_asked))


async def _reviewed(dashboard: Dashboard, request: Request) -> Response:
    told = await _body(request)
    number, document, text = (str(told.get(name) or "") for name in ("run", "document", "text"))
    row = dashboard.register.row(number)
    inside = dashboard.register.documents.get(document, "")
    if (number and row is None) or (document and not inside):
        raise NothingToRead("This run or document is not there any more.")
    if not inside and not text.strip():
        raise NothingToRead("Choose a document, or paste a text.")
    asked = (dashboard.house, text, inside, row.inside if row else "")
    answer: Answer = await _asked(dashboard, reviewing.reviewed, *asked)
    return _json({"markup": answer.markup, "review": answer.told})


async def _trials(dashboard: Dashboard, request: Request) -> Response:
    results: list[trials.Result] = []
    for inside in list(dashboard.register.trials.values())[:MOST_TRIALS]:
        try:
            results.append((inside, trial_results.trial_result(dashboard.house, inside)))
        except StethoscopeError as problem:
            results.append((inside, str(problem)))
    if request.url.path.endswith(".json"):
        return _json([{"path": path, "result": told} for path, told in results])
    return HTMLResponse(trials.page(dashboard.frame, results))


# --- what all of them need


async def _static(request: Request) -> Response:
    file = static_files().get(request.path_params["name"])
    if file is None:
        return Response(status_code=404)
    known = request.query_params.get("v") == file.digest
    return Response(file.content, headers=KEPT if known else None, media_type=file.kind)


async def _not_found(dashboard: Dashboard, request: Request, *_: Any) -> Response:
    return HTMLResponse(run.gone(dashboard.frame), status_code=404)


def _joined(dashboard: Dashboard, handler: Any) -> Any:
    """The handler of a route; what it cannot do is said on a page, or in JSON to a script."""

    async def handling(request: Request, *rest: Any) -> Response:
        try:
            response: Response = await handler(dashboard, request, *rest)
        except StethoscopeError as problem:
            return _refused(dashboard, request, problem)
        return response

    return handling


def _refused(dashboard: Dashboard, request: Request, problem: StethoscopeError) -> Response:
    status = 404 if isinstance(problem, NothingToRead) else 409
    if request.method == "POST" or request.url.path.endswith((".json", ".plan", ".events")):
        return _json({"error": str(problem)}, status_code=status)
    return HTMLResponse(run.failed(dashboard.frame, "This is not possible", str(problem)), status_code=status)


def _row(dashboard: Dashboard, request: Request) -> Row:
    row = dashboard.register.row(request.path_params["number"])
    if row is None:
        raise NothingToRead("There is no such run in this folder, or not any more.")
    return row


def _must_be_writable(dashboard: Dashboard) -> None:
    if dashboard.read_only:
        raise StethoscopeError("This dashboard is read-only: nothing is written.")


async def _asked(dashboard: Dashboard, function: Callable[..., Any], *given: Any) -> Any:
    return await asyncio.wrap_future(dashboard.ask(function, *given))


async def _body(request: Request) -> dict[str, Any]:
    try:
        told = json.loads(await request.body())
    except ClientDisconnect:
        raise StethoscopeError("More was sent than is read.") from None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise StethoscopeError("What was sent is no JSON object.")
    return told


def _json(told: Any, status_code: int = 200) -> Response:
    """An answer for a script or a program; numbers that JSON does not have are null."""
    body = json.dumps(plain(told), allow_nan=False)
    return Response(body, status_code=status_code, media_type="application/json")


def _stream(lines: Any) -> StreamingResponse:
    return StreamingResponse(lines, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
