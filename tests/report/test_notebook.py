"""A diagnosis in a notebook, by the protocol that IPython displays things with."""

from __future__ import annotations

from html import unescape

import pytest

from stethoscope.report import markdown_report
from stethoscope.report.html.page import page
from tests.report import patients
from tests.report.test_html import MADE, Parsed


@pytest.mark.parametrize("name", MADE)
def test_a_cell_is_well_formed_and_its_frame_may_only_run_itself(name: str) -> None:
    parsed = Parsed(MADE[name]()._repr_html_())
    assert (parsed.open, parsed.unbalanced) == ([], [])
    assert "script" not in {tag for tag, _ in parsed.elements}
    (frame,) = [attrs for tag, attrs in parsed.elements if tag == "iframe"]
    assert frame["sandbox"] == "allow-scripts"
    assert unescape(frame["srcdoc"] or "") == unescape(page(MADE[name]()))


def test_what_stands_outside_the_frame_says_what_is_wrong() -> None:
    words = " ".join("".join(Parsed(patients.sick()._repr_html_()).words).split())
    assert "nano: sick (proved)" in words
    assert "A loss term has the wrong sign (proved): SSIMLoss returns the similarity" in words
    assert "+ return 1 - score" in words


def test_markdown_is_the_markdown_report() -> None:
    sick = patients.sick()
    assert sick._repr_markdown_() == markdown_report.render(sick)


def test_ipython_takes_it_where_it_is_installed() -> None:
    formatters = pytest.importorskip("IPython.core.formatters", reason="IPython is not installed")
    shown, _ = formatters.DisplayFormatter().format(patients.sick())
    assert {"text/html", "text/markdown", "text/plain"} <= set(shown)
