"""`stethoscope explain CODE`: the page of a rule or a cause."""

from __future__ import annotations

import click


@click.command(
    "explain",
    short_help="Show the page of a rule or a cause.",
    epilog="\b\nExamples:\n  stethoscope explain AMP101\n  stethoscope explain loss-sign-inverted",
)
@click.argument("code_or_name")
def command(code_or_name: str) -> None:
    """Show what a rule looks for and when it is harmless, or how a cause works and what cures it.

    CODE_OR_NAME is a rule's code (AMP101) or name (loss-scale-collapse), or the name of a cause.
    """
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.report import page
    from stethoscope.report.terminal import console

    found = page.find(code_or_name)
    prepare()
    put(page.render(found, console()))
