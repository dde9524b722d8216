"""`stethoscope serve DIR`: a local web page over every run below a folder."""

from __future__ import annotations

import click

ENDED = 0
MOST_PORT = 65535


@click.command(
    "serve",
    short_help="Show all runs below a folder in the browser, live.",
    epilog="\b\nExamples:\n"
    "  stethoscope serve examples --no-browser --minutes 0.05\n"
    "  stethoscope serve examples --read-only --port 0 --no-browser --minutes 0.05",
)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--port",
    type=click.IntRange(0, MOST_PORT),
    help="The port to listen at; 0 takes any that is free. Else 8765 or one of the next.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at. Another than this machine's own needs --exposed.",
)
@click.option("--exposed", is_flag=True, help="Let other machines reach the page, without encryption.")
@click.option("--open/--no-browser", "browser", default=True, help="Open the page in the browser, or do not.")
@click.option("--read-only", is_flag=True, help="Show what is prescribed, and never write it.")
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), help="End by itself after so many minutes."
)
def command(
    folder: str,
    port: int | None,
    host: str,
    exposed: bool,
    browser: bool,
    read_only: bool,
    minutes: float | None,
) -> int:
    """Show every run below DIR on a local web page: who needs help first, live while they train.

    A run's page is the report of `stethoscope diagnose`, and goes on while the run is written. Two runs can
    be compared, a written diagnosis reviewed, and what is prescribed written into files below DIR after a
    confirmation. The page is served to this machine only, and opens with the address that is printed: it
    holds a key that is made anew at every start. Ctrl-C ends it.

    Exit status: 0 ended as asked; 2 DIR cannot be read, or the port is taken.
    """
    from stethoscope.cli._stdout import prepare, put
    from stethoscope.dashboard.houses import house_at
    from stethoscope.dashboard.server import Wanted, is_local, must_be_installed, serve

    must_be_installed()
    house = house_at(folder)
    if not is_local(host):
        _must_be_meant(host, exposed)
    prepare(None)
    wanted = Wanted(host, port, read_only, browser, None if minutes is None else 60 * minutes)
    serve(house, wanted, lambda address: put(f"{address}\nCtrl-C ends it.\n"))
    return ENDED


def _must_be_meant(host: str, exposed: bool) -> None:
    if not exposed:
        raise click.UsageError(
            f"--host {host} lets other machines reach the page; add --exposed if that is meant."
        )
    click.echo(
        f"stethoscope: warning: whoever can read the traffic to {host} can read the key and use the page; "
        "there is no encryption. An SSH tunnel to 127.0.0.1 is safe.",
        err=True,
    )
