"""`stethoscope rules`: everything that is looked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stethoscope.findings import RuleEntry


@click.command(
    "rules",
    short_help="List what is looked for.",
    epilog="\b\nExamples:\n  stethoscope rules\n  stethoscope rules --format json",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON for programs.",
)
def command(format_: str) -> None:
    """List the rules by family, with how much each matters and what it looks for.

    `stethoscope explain CODE` shows a rule's page.
    """
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.findings import catalogue
    from stethoscope.report import rule_table
    from stethoscope.report.terminal import console

    prepare("utf-8" if format_ == "json" else None)
    rules = catalogue()
    put(_as_json(rules) if format_ == "json" else rule_table.render(rules, console()))


def _as_json(rules: tuple[RuleEntry, ...]) -> str:
    listed = [
        {
            "code": rule.code,
            "name": rule.name,
            "family": rule.family,
            "severity": rule.severity.value,
            "since": rule.since,
            "summary": rule.summary,
        }
        for rule in rules
    ]
    return json.dumps({"schema": 1, "rules": listed}, ensure_ascii=False, indent=2) + "\n"
