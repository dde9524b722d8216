"""The few styles of the terminal report; they stay readable on light and on dark backgrounds."""

from __future__ import annotations

from stethoscope.causes.verdict import Verdict
from stethoscope.findings import Severity

HEADING = "bold"
ADDRESS = "cyan"
FOR, AGAINST = "green", "red"

OF_VERDICT = {
    Verdict.HEALTHY: "bold green",
    Verdict.AT_RISK: "bold dark_orange3",
    Verdict.SICK: "bold red",
    Verdict.UNKNOWN: "bold cyan",
}
OF_SEVERITY = {Severity.CRITICAL: "red", Severity.WARNING: "dark_orange3", Severity.NOTE: ""}
OF_DIFF = {"+": "green", "-": "red", "@": "cyan"}
OF_MARK = {"^": "bold red", "o": "bold green", "x": "bold magenta"}
