"""The files that differ from a commit, asked of git; nothing of the repository is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from stethoscope.errors import NothingToRead

MOST_SECONDS = 60
DEFAULT_BASES = ("origin/HEAD", "origin/main", "origin/master")
# A repository's own configuration can name programs that git would run.
QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def changed_files(folder: Path, base: str | None = None) -> frozenset[Path]:
    """The files below the repository of `folder` that differ from `base`, those unknown to git included.

    Without a base, it is where the branch left the remote's main branch, or the last commit where there is
    no remote. Raises NothingToRead where git cannot tell.
    """
    root = Path(_asked(folder, "rev-parse", "--show-toplevel"))
    commit = _commit(root, base) if base else _usual_base(root)
    differing = _paths(root, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--")
    unknown = _paths(root, "ls-files", "-z", "--others", "--exclude-standard")
    return frozenset((*differing, *unknown))


def is_commit(folder: Path, name: str) -> bool:
    """Whether a repository knows a commit, branch or tag of this name."""
    try:
        return bool(_commit(folder, name))
    except NothingToRead:
        return False


def _usual_base(root: Path) -> str:
    for remote in DEFAULT_BASES:
        if is_commit(root, remote):
            try:
                return _asked(root, "merge-base", "HEAD", remote)
            except NothingToRead:
                continue  # a shallow clone may not hold the common commit
    return _commit(root, "HEAD")


def _commit(root: Path, name: str) -> str:
    try:
        return _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except NothingToRead as problem:
        if str(problem).startswith("--changed needs git"):
            raise
        raise NothingToRead(
            f"--changed: {name} is no commit, branch or tag of the repository at {root}. "
            "A shallow clone knows only its last commit: fetch the base first."
        ) from None


def _paths(root: Path, *arguments: str) -> list[Path]:
    return [root / name for name in _asked(root, *arguments).split("\0") if name]


def _asked(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "--no-pager", *QUIET, "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
            env=_environment(),
        )
    except FileNotFoundError:
        raise NothingToRead("--changed needs git, which is not installed.") from None
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NothingToRead(f"--changed needs git, which did not answer: {problem}.") from None
    if done.returncode != 0:
        raise NothingToRead(f"--changed: {_said(done.stderr, folder)}")
    return os.fsdecode(done.stdout).removesuffix("\n")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _points_elsewhere(name)}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _points_elsewhere(name: str) -> bool:
    # A hook has these set for its own repository, which need not be the one asked about.
    return name in {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_PREFIX"}


def _said(complaint: bytes, folder: Path) -> str:
    words = complaint.decode("utf-8", errors="replace").strip().removeprefix("fatal: ")
    return f"{folder} is in no git repository." if "not a git repository" in words else f"git says: {words}"
