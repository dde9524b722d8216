"""The scripts and styles, by name: each is in a table, and nothing that is not in it is served."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from stethoscope.report.html import page as report

OWN = (
    *("dashboard.css", "asking.js", "morph.js", "review.js", "run.js", "runs.js", "steady.js", "times.js"),
)
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page itself."""

    content: bytes
    kind: str
    digest: str


@cache
def static_files() -> dict[str, StaticFile]:
    """Every file by its name; script and style of the report are those of the report."""
    folder = files("stethoscope.dashboard").joinpath("static")
    own = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in OWN}
    return {name: _file(name, text) for name, text in _all(own).items()}


def address(name: str) -> str:
    """Where a file is asked for; another version has another address, so it can be kept for long."""
    return f"/static/{name}?v={static_files()[name].digest}"


def _all(own: dict[str, str]) -> dict[str, str]:
    return own | {"report.js": report.script(), "report.css": report.style()}


def _file(name: str, text: str) -> StaticFile:
    content = text.encode("utf-8")
    return StaticFile(content, KINDS[name.rpartition(".")[2]], hashlib.sha256(content).hexdigest()[:12])
