"""What a lint report says about a rule and a fix, in one line each."""

from __future__ import annotations

import re

from stethoscope.findings import RuleEntry
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.report.words import count
from stethoscope.run import Level


def why(rule: RuleEntry) -> str:
    """Why it matters: the first sentence of that section of the rule's page."""
    found = re.search(r"^## Why it matters\s+(.*?)(?=^## |\Z)", rule.page, re.MULTILINE | re.DOTALL)
    text = " ".join(found[1].split()) if found else rule.summary
    sentence = re.match(r"(.+?[.!?])(?=\s+[A-Z`]|$)", text)
    return sentence[1] if sentence else text


def about_fix(one: Linted) -> str:
    """The fix's title and what it takes to apply it; empty where there is none."""
    if one.fix is None:
        return ""
    if one.keeps:
        return f"{one.fix.title} (not applied: {one.keeps})"
    how = {
        Level.SAFE: "--fix",
        Level.UNSAFE: "--fix --unsafe-fixes",
        Level.DISPLAY: "by hand",
    }
    return f"{one.fix.title} ({how[one.fix.level]})"


def looked_at(report: LintReport) -> str:
    """How many rules looked at how much."""
    rules = count(report.rules_that_looked, "rule")
    files, lines = count(len(report.files), "file"), count(report.lines, "line")
    around = f", and {count(report.context, 'file')} around for context" if report.context else ""
    return f"{rules} looked at {files} ({lines}){around}"
