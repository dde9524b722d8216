"""Paths as people type them: one, several, or a pattern that the shell left alone."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from stethoscope.errors import NothingToRead

STDIN = "-"


def expanded(typed: Sequence[str]) -> list[str]:
    """The paths, patterns replaced by what they match; raises NothingToRead for what is not there."""
    paths: list[str] = []
    for path in typed:
        paths += [path] if path == STDIN or _exists(path) else _matching(path)
    return list(dict.fromkeys(paths))


def _matching(pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        must_exist(pattern)
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise NothingToRead(f"{pattern} does not exist, and as a pattern it matches nothing.")
    return found


def must_exist(path: str) -> None:
    """Raise NothingToRead, with the command that was perhaps meant, where a path leads nowhere."""
    if path == STDIN or _exists(path):
        return
    near = get_close_matches(path, _commands(), n=1)
    hint = f" Did you mean the command `stethoscope {near[0]}`?" if near else ""
    raise NothingToRead(f"{path} does not exist.{hint}")


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _commands() -> list[str]:
    context = click.get_current_context().find_root()
    return context.command.list_commands(context) if isinstance(context.command, click.Group) else []
