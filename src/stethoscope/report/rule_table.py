"""The list of rules by family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from stethoscope.findings import RuleEntry
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import HEADING, OF_SEVERITY


def render(rules: Sequence[RuleEntry], console: Console) -> str:
    """Every rule with its code, its weight, its name and what it looks for."""
    return printed(_lines(rules), console)


def _lines(rules: Sequence[RuleEntry]) -> Iterator[Line]:
    by_family = sorted(rules, key=lambda rule: (rule.family, rule.code))
    for number, (family, members) in enumerate(groupby(by_family, key=lambda rule: rule.family)):
        if number:
            yield BLANK
        yield Line(Text(family, style=HEADING))
        for rule in members:
            severity = (f"{rule.severity.value:<8}", OF_SEVERITY[rule.severity])
            yield Line(Text.assemble((rule.code, HEADING), "  ", severity, "  ", rule.name), indent=2)
            yield Line(Text(rule.summary), indent=10)
