"""The Markdown report is short enough for an issue, and what strangers named is only text in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from stethoscope.report import markdown_report
from stethoscope.report.markdown_report import LONGEST, code, fenced, text
from tests.report import patients


def test_a_sick_run_says_what_is_wrong_and_what_to_change() -> None:
    written = markdown_report.render(patients.sick())
    assert written.startswith("## nano: sick (proved)\n")
    assert "1. **A loss term has the wrong sign** (proved; `loss-sign-inverted`)" in written
    assert "(`losses.py:41`) Proof: on (x, x) it is 1." in written
    assert f"```diff\n{patients.DIFF.rstrip()}\n```" in written
    assert "`models/net_g_200.pth` (step 200): the last one before the fall." in written
    assert "<details><summary>Looks alarming, is not (1)</summary>" in written
    assert written.count("<details>") == written.count("</details>")


def test_a_healthy_run_is_told_in_a_few_lines() -> None:
    written = markdown_report.render(patients.healthy())
    assert written.startswith("## nano: healthy (very likely, 88%)\n")
    assert "### What to change" not in written


def test_a_hostile_run_stays_below_what_github_takes_and_makes_no_markup() -> None:
    written = markdown_report.render(patients.hostile())
    assert len(written) <= LONGEST
    assert "\x1b" not in written
    assert "\u202e" not in written
    assert written.encode("utf-8")


def test_what_does_not_fit_is_named() -> None:
    sick = patients.sick()
    edit = replace(sick.prescription.edits[0], diff="+" + "x" * 250 + "\n")
    long = replace(edit, diff=edit.diff * 100)
    many = replace(sick.prescription, edits=(long,) * 10)
    written = markdown_report.render(replace(sick, prescription=many))
    assert len(written) <= LONGEST
    assert "*Left out, being too long: What to change.*" in written
    assert "### What to do" in written, "what comes after it is still told"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("<b>x</b> & y", "&lt;b&gt;x&lt;/b&gt; &amp; y"),
        ("[a](http://b) ![c](d)", "\\[a\\](http://b) !\\[c\\](d)"),
        ("*a* _b_ `c` ~~d~~ $e$", "\\*a\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~ \\$e\\$"),
        ("# heading", "# heading"),
        ("#12 of @octocat", "#<!-- -->12 of @<!-- -->octocat"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("> quote", "&gt; quote"),
        ("a\n\n# b", "a # b"),
    ],
)
def test_text_is_shown_as_it_is(given: str, shown: str) -> None:
    assert text(given) == shown


def test_code_and_fences_cannot_be_left() -> None:
    assert code("plain") == "`plain`"
    assert code("a`b``c") == "```a`b``c```"
    assert code("`") == "`` ` ``"
    block = fenced(["+ ```", "+ ````x"], "diff")
    assert block.startswith("`````diff\n")
    assert re.findall(r"^`{5,}.*$", block, re.M) == ["`````diff", "`````"]
