"""The report as one HTML file that needs nothing else, and its content for a page that is alive.

The page forbids itself everything but its own script and style, which it names by their digests. Whatever a
log or a file is called stands on it as text.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from stethoscope import __version__
from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.figures import svg
from stethoscope.prescription.case import Case
from stethoscope.prescription.course import Course, course
from stethoscope.report.clean_text import one_line
from stethoscope.report.html import palette
from stethoscope.report.html.anchors import of_causes, of_findings
from stethoscope.report.html.charts import chart_data, home_of, panels
from stethoscope.report.html.markup import NOTHING, Markup, data_block, element, joined, link
from stethoscope.report.html.places import Atlas
from stethoscope.report.html.sections import (
    argument,
    curves,
    findings,
    happenings,
    headline,
    prescription,
)
from stethoscope.report.sections.headline import LONGEST_NAME
from stethoscope.report.timeline import timeline

DATA = "stethoscope-data"
SCRIPTS = ("vendored/uPlot.iife.min.js", "page.js")
STYLES = ("vendored/uPlot.min.css", "style.css")


@dataclass(frozen=True, slots=True)
class Content:
    """What is inside the page's <main>, and the numbers its charts are drawn from."""

    title: str
    markup: str
    data: dict[str, object]


def page(diagnosis: Diagnosis) -> str:
    """The whole file."""
    shown = content(diagnosis)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        _policy(),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"Stethoscope {__version__}"),
        element("title", shown.title),
        Markup(f"<style>{style()}</style>"),
    )
    body = element(
        "body",
        link("report", "Skip to the report", class_="skip"),
        element("div", id="controls"),
        element("main", Markup(shown.markup), id="report"),
        element("div", id="said", class_="unseen", role="status", aria_live="polite"),
        data_block(DATA, shown.data),
        Markup(f"<script>{script()}</script>"),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def content(diagnosis: Diagnosis) -> Content:
    """The inside of the page: markup that can be shown anywhere with the style, and the charts' numbers."""
    shown = panels(diagnosis)
    atlas = Atlas(home_of(shown), of_findings(diagnosis), of_causes(diagnosis.explanation.causes))
    name = one_line(diagnosis.run.name, LONGEST_NAME) or "a run"
    healthy = diagnosis.verdict is Verdict.HEALTHY
    markup = joined(
        headline.section(diagnosis, atlas),
        curves.section(diagnosis, shown),
        argument.section(diagnosis.explanation, atlas, healthy),
        NOTHING if healthy else prescription.section(diagnosis.prescription, _course(diagnosis), atlas),
        happenings.section(timeline(diagnosis), atlas),
        findings.benign(diagnosis.explanation.benign, atlas),
        findings.every_finding(diagnosis.examination.found, atlas),
        findings.not_examined(diagnosis.examination.not_examined),
        findings.reading(diagnosis.run),
        element("footer", f"{findings.counted(diagnosis)} Stethoscope {__version__}.", class_="faint"),
    )
    title = f"{headline.BADGE[diagnosis.verdict]}: {name}"
    return Content(title, str(markup), {"charts": chart_data(shown)})


def _course(diagnosis: Diagnosis) -> Course:
    case = Case(diagnosis.run, diagnosis.examination, diagnosis.explanation)
    return course(case, diagnosis.prescription)


@cache
def script() -> str:
    """The page's script, the chart library included."""
    return "\n".join(_read(name) for name in SCRIPTS)


@cache
def style() -> str:
    """The page's style, that of the pictures included."""
    return "\n".join([palette.rules(), svg.style("auto"), *(_read(name) for name in STYLES)])


def _policy() -> Markup:
    rules = (
        f"default-src 'none'; script-src '{_digest(script())}'; style-src '{_digest(style())}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    # The quotes of a policy are its own: only letters that no attribute minds stand in it.
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{rules}">')


def _digest(inline: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode("utf-8")).digest()).decode("ascii")


def _read(name: str) -> str:
    return files("stethoscope.report.html").joinpath(name).read_text(encoding="utf-8")
