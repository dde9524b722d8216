"""A browser for the tests, and pages in it that keep what they complain about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass
class Opened:
    """A page, and every error it has written to its console or thrown."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no browser tests"
    )
    named = os.environ.get("STETHOSCOPE_CHROMIUM")
    path = named or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed: the pages are not opened in a browser")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open markup from a file of its own, with options of the browser's context."""
    contexts = []

    def open_page(markup: str, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(markup, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        contexts.append(context)
        one = Opened(context.new_page())
        one.page.on("console", lambda message: _note(one, message))
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.goto(file.as_uri())
        return one

    yield open_page
    for context in contexts:
        context.close()


def _note(one: Opened, message: Any) -> None:
    if message.type in {"error", "warning"}:
        one.complaints.append(message.text)
