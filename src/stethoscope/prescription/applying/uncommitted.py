"""The files with changes that git does not know yet, asked of git; nothing of the repository is run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

MOST_SECONDS = 60
# A repository's own configuration can name programs that git would run.
QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
# A hook has these set for its own repository, which need not be the one asked about.
ELSEWHERE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_PREFIX"})


def uncommitted(project: Path, files: Sequence[Path]) -> tuple[Path, ...]:
    """Those of the files that differ from the last commit.

    None where there is no repository, no git or no commit. A file that git does not follow is none of them:
    nothing of it could be mixed up with what is written.
    """
    if not files:
        return ()
    named = [os.path.relpath(file, os.path.realpath(project)) for file in files]
    asked = ("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames", "--")
    told = _asked(project, *asked, *named)
    differing = {os.fsdecode(entry)[3:] for entry in (told or b"").split(b"\0") if entry}
    if not differing:
        return ()
    # The names in the answer are relative to the root of the repository.
    top = os.path.realpath(os.fsdecode(_asked(project, "rev-parse", "--show-toplevel") or b"").strip("\n"))
    return tuple(file for file in files if os.path.relpath(file, top).replace(os.sep, "/") in differing)


def _asked(project: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "--no-pager", "--literal-pathspecs", *QUIET, "-C", str(project), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
