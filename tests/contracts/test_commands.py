"""What is true of every command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from stethoscope.cli import stethoscope
from tests.cli.processes import surroundings

CONTEXT = click.Context(stethoscope, info_name="stethoscope")
COMMANDS = {name: stethoscope.get_command(CONTEXT, name) for name in stethoscope.list_commands(CONTEXT)}

every_command = pytest.mark.parametrize("name", COMMANDS)


def examples(command: click.Command) -> list[str]:
    """The command lines below "Examples:"."""
    _, _, below = (command.epilog or "").partition("Examples:\n")
    return [line.strip() for line in below.splitlines() if line.strip()]


EXAMPLES = [line for command in [stethoscope, *COMMANDS.values()] if command for line in examples(command)]


@every_command
def test_a_command_has_help_that_ends_with_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert command is not None
    assert command.help
    assert command.short_help
    assert examples(command)
    undescribed = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert undescribed == []


@every_command
def test_a_command_is_documented(name: str, root: Path) -> None:
    page = (root / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert f"## stethoscope {name}\n" in page


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works(line: str, root: Path, tmp_path: Path) -> None:
    """Run as written, in a shell; home is elsewhere, and `stethoscope` is the one under test."""
    for folder in re.findall(r"~/(\S+)/", line):
        (tmp_path / folder).mkdir(parents=True)
    called = f'stethoscope() {{ "{sys.executable}" -m stethoscope "$@"; }}; {line}'
    done = subprocess.run(
        ["bash", "-c", called],
        cwd=root,
        env=surroundings(HOME=str(tmp_path)),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr.decode()
    assert done.stderr == b""
