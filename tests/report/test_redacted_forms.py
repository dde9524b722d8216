"""A redacted diagnosis leaks nothing in the forms that are made to be shown."""

from __future__ import annotations

from pathlib import Path

from stethoscope import diagnose
from stethoscope.report import markdown_report, sarif_report
from stethoscope.report.html.page import page
from stethoscope.report.redact import redacted
from tests.report.test_html import Parsed
from tests.report.test_redact import leaked, runs

__all__ = ["runs"]  # a fixture


def test_page_markdown_and_sarif_of_a_redacted_diagnosis_hold_no_secret(runs: tuple[Path, Path]) -> None:
    whole = diagnose(runs[1])
    assert leaked(page(whole)) != []
    diagnosis = redacted(whole)
    written = page(diagnosis)
    assert leaked(written) == []
    assert leaked(markdown_report.render(diagnosis)) == []
    assert leaked(sarif_report.render(diagnosis)) == []
    parsed = Parsed(written)
    assert {link[1:] for link in parsed.attributes("href")} <= set(parsed.attributes("id"))
