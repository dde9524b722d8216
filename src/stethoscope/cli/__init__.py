"""The command line: one file per command, imported when it is asked for.

A command's file holds `command`, and imports the line only inside it: `stethoscope --help` answers at
once. Exit status: 0 nothing wrong, 1 something found, 2 could not examine or could not be understood.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules

import click
from click.shell_completion import CompletionItem

from stethoscope import __version__
from stethoscope.cli._stdout import discard_the_rest
from stethoscope.errors import StethoscopeError

__all__ = ["main", "stethoscope"]

DEFAULT = "diagnose"
COULD_NOT_EXAMINE = 2
INTERRUPTED = 130
DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
GROUP_OPTIONS = frozenset({"--help", "-h", "--version"})


def main() -> None:
    """Run the command line; every way out is an exit status and at most one line on stderr."""
    for library in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(library, "1")  # matrices here are small: threads would wait for each other
    # `stethoscope RUN >&-` ends with its exit status, too: what nobody reads goes nowhere.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stdout or nowhere
        sys.stderr = sys.stderr or nowhere
        sys.exit(_status())


class Commands(click.Group):
    """The files beside this one, as commands; what is no command is a run to diagnose."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in alphabetical order."""
        return sorted(found.name for found in iter_modules(__path__) if not found.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `stethoscope RUN` as `stethoscope diagnose RUN`, and nothing at all as a call for help."""
        args = args or ["--help"]
        if args[0] not in GROUP_OPTIONS and args[0] not in self.list_commands(ctx):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands, and files for a run."""
        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="[COMMAND] ...",
    epilog="\b\nExamples:\n  stethoscope examples/nano-sr\n  stethoscope diagnose --help",
)
@click.version_option(__version__, message="stethoscope %(version)s")
def stethoscope() -> None:
    """Find out what really went wrong with a training run.

    `stethoscope RUN` reads the logs, settings and source of a run and says what is wrong with it,
    how sure that is, and what to change. It is short for `stethoscope diagnose RUN`.
    """


def _status() -> int:
    debugging = bool(os.environ.get("STETHOSCOPE_DEBUG"))
    if not debugging:
        # Parsing a stranger's source may warn about it; that is no line of a report.
        warnings.simplefilter("ignore")
    try:
        status = stethoscope.main(prog_name="stethoscope", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as problem:
        return _complain(problem.format_message())
    except StethoscopeError as problem:
        return _complain(str(problem))
    except Exception as bug:
        if isinstance(bug, OSError) and bug.errno in DISK_IS_FULL:
            discard_the_rest()
            return _complain(f"could not write the output: {bug.strerror}.")
        if debugging:
            raise
        return _complain(
            f"this is a fault of stethoscope, not of your run: {type(bug).__name__}: {bug}. "
            "Set STETHOSCOPE_DEBUG=1 to see where, and please report it."
        )


def _complain(message: str) -> int:
    from stethoscope.report.clean_text import one_line

    click.echo(f"stethoscope: {one_line(message)}", err=True)
    return COULD_NOT_EXAMINE
