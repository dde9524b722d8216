"""What is said beside the output."""

from __future__ import annotations

import click


def say(*messages: str) -> None:
    """Say each message in a line of its own on standard error."""
    from stethoscope.report.clean_text import one_line

    for message in messages:
        click.echo(f"stethoscope: {one_line(message)}", err=True)
