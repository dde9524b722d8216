"""Copies of a project as it stands: text is copied, data is linked, what runs left behind stays where it is.

    copied     everything a person wrote, and small files beside it
    linked     large files, and folders that git ignores or that hold only data: never copied, never to be
               written to
    left out   versions, environments, caches, checkpoints, logs and the folders of earlier runs; a folder of
               runs is there, and empty

A trial copies the project once and makes its arms from that copy, so that editing the project while a trial
runs changes nothing in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from stethoscope.errors import StethoscopeError
from stethoscope.run.checkpoint_files import is_checkpoint
from stethoscope.run.folder import Entry

LARGE_FILE = 16 << 20  # bytes; copied for every run it would cost more than it is worth
MANY_FILES = 2_000  # of data in one folder
LARGE_FOLDER = 200 << 20  # bytes of data
MOST_COPIED = 2 << 30  # bytes of one copy
MOST_COPIED_FILES = 50_000
GIT_SECONDS = 30.0

VERSIONS = frozenset({".git", ".hg", ".svn", ".jj"})
CACHES = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis"),
        *("node_modules", ".ipynb_checkpoints", ".eggs", ".idea", ".vscode", ".cache"),
    }
)
# Where trainings leave their runs. Found empty in a copy, so that whoever writes there finds the folder.
OF_RUNS = frozenset(
    {
        *("runs", "outputs", "wandb", "mlruns", "lightning_logs", "checkpoints", "ckpts", "ckpt"),
        *("tb_logs", "tensorboard", "logs", "multirun", "trials"),
    }
)
LOG_ENDINGS = (".log",)
EVENTS = "events.out.tfevents"
# Files that say that a folder is more than data.
SOURCE_ENDINGS = (".py", ".yaml", ".yml", ".toml", ".sh", ".cfg", ".ini", ".ipynb", ".gin")


@dataclass(slots=True)
class Plan:
    """What becomes of each file and folder of a project, by its path inside it."""

    root: Path
    copied: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # folders that are there without what is in them
    left_out: list[str] = field(default_factory=list)
    copied_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a project, and what it holds: the hash of each file, and of what each link leads to."""

    folder: Path
    manifest: Mapping[str, str]


def planned(
    project: Path,
    linked: Iterable[str] = (),
    left_out: Iterable[str] = (),
    files: Iterable[str] = (),
    needed: Iterable[str] = (),
) -> Plan:
    """Decide about everything below a project; raises StethoscopeError where a copy would be too large.

    `files` are all that is copied, where they are given; `needed` are copied whatever their kind.
    """
    plan = Plan(project)
    tracked = _tracked(project)
    wanted = _Wanted(
        frozenset(map(_tidy, linked)),
        frozenset(map(_tidy, left_out)),
        frozenset(map(_tidy, needed)),
        _ignored(project),
        tracked,
        frozenset(map(str, (folder for name in tracked or () for folder in PurePosixPath(name).parents))),
    )
    if files := tuple(files):
        plan.copied.extend(sorted(_tidy(name) for name in files))
        plan.linked.extend(sorted(wanted.linked))
    else:
        _look_into(project, "", plan, wanted)
    return plan


def taken(plan: Plan, target: Path) -> Snapshot:
    """Copy the project into an empty folder."""
    manifest: dict[str, str] = {}
    for name in plan.empty:
        (target / name).mkdir(parents=True, exist_ok=True)
    for name in plan.copied:
        manifest[name] = _copy(plan.root / name, target / name)
    for name in plan.linked:
        manifest[name] = _link(plan.root / name, target / name)
    return Snapshot(target, manifest)


def hashes(plan: Plan) -> dict[str, str]:
    """What `taken` would say of the project, without a copy."""
    found = {name: _hash_of(plan.root / name) for name in plan.copied}
    return found | {name: _state_of(plan.root / name) for name in plan.linked}


def copy_snapshot(snapshot: Path, target: Path, changed: Mapping[str, bytes | None]) -> None:
    """Make a project of a snapshot, with these files otherwise; None is a file that is not there."""
    shutil.copytree(snapshot, target, symlinks=True, copy_function=shutil.copy2)
    for name, content in changed.items():
        file = target / name
        if file.is_symlink() or content is None:
            file.unlink(missing_ok=True)
        if content is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def links_changed(manifest: Mapping[str, str], plan: Plan) -> list[str]:
    """What is linked and not as it was: something wrote there."""
    return [name for name in plan.linked if manifest.get(name) != _state_of(plan.root / name)]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for by name, and what git says; None where git says nothing."""

    linked: frozenset[str]
    left_out: frozenset[str]
    needed: frozenset[str]
    ignored: frozenset[str] | None
    tracked: frozenset[str] | None
    tracked_folders: frozenset[str]

    def has_tracked(self, folder: str) -> bool:
        """Whether git keeps a file below a folder, or one is edited."""
        return folder in self.tracked_folders or self.has_needed(folder)

    def has_needed(self, folder: str) -> bool:
        """Whether a file below a folder is edited."""
        return any(name.startswith(f"{folder}/") for name in self.needed)


def _look_into(folder: Path, inside: str, plan: Plan, wanted: _Wanted) -> None:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as problem:
        plan.left_out.append(f"{inside or '.'} ({(problem.strerror or str(problem)).lower()})")
        return
    for entry in entries:
        name = f"{inside}/{entry.name}" if inside else entry.name
        if name in wanted.left_out:
            plan.left_out.append(name)
        elif name in wanted.linked or (entry.is_symlink() and entry.is_dir()):
            plan.linked.append(name)
        elif entry.is_dir():
            _folder(Path(entry.path), name, plan, wanted)
        else:
            _file(entry, name, plan, wanted)
        _must_be_bearable(plan, name)


def _folder(folder: Path, name: str, plan: Plan, wanted: _Wanted) -> None:
    last = folder.name
    if last in VERSIONS or last in CACHES or (folder / "pyvenv.cfg").exists():
        plan.left_out.append(f"{name}/")
    elif last in OF_RUNS and not wanted.has_tracked(name) and not _has_code(folder):
        plan.empty.append(name)
        plan.left_out.append(f"{name}/")
    elif not wanted.has_needed(name) and (name in (wanted.ignored or ()) or _is_data(folder)):
        plan.linked.append(name)
    else:
        plan.empty.append(name)
        _look_into(folder, name, plan, wanted)


def _file(entry: os.DirEntry[str], name: str, plan: Plan, wanted: _Wanted) -> None:
    tracked = name in (wanted.tracked or ()) or name in wanted.needed
    try:
        status = entry.stat()
    except OSError:
        plan.left_out.append(name)  # a link to nothing
        return
    shown = Entry(Path(entry.path), name, status.st_size, status.st_mtime)
    of_a_run = entry.name.endswith(LOG_ENDINGS) or EVENTS in entry.name or is_checkpoint(shown)
    if not stat.S_ISREG(status.st_mode) or (of_a_run and not tracked):
        plan.left_out.append(name)
    elif status.st_size > LARGE_FILE and name not in wanted.needed:
        plan.linked.append(name)
    else:
        plan.copied.append(name)
        plan.copied_bytes += status.st_size


def _has_code(folder: Path) -> bool:
    """Whether source lies directly in a folder: then it is a package, whatever its name."""
    try:
        return any(name.endswith(".py") for name in os.listdir(folder))
    except OSError:
        return False


def _is_data(folder: Path) -> bool:
    """Whether a folder holds much, and nothing that a person wrote."""
    files = size = 0
    for here, _, names in os.walk(folder):
        for name in names:
            if name.endswith(SOURCE_ENDINGS):
                return False
            files += 1
            try:
                size += os.lstat(os.path.join(here, name)).st_size
            except OSError:
                continue
            if files > MANY_FILES or size > LARGE_FOLDER:
                return True
    return False


def _must_be_bearable(plan: Plan, name: str) -> None:
    if plan.copied_bytes > MOST_COPIED or len(plan.copied) > MOST_COPIED_FILES:
        raise StethoscopeError(
            f"{plan.root} is too large to copy for every run: {len(plan.copied):,} files, "
            f"{plan.copied_bytes >> 20:,} MB up to {name}. Name its data with --link, or what is not needed "
            "with --leave-out."
        )


def _ignored(project: Path) -> frozenset[str] | None:
    """The files and folders that git ignores."""
    listed = _git(project, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return None if listed is None else frozenset(name.rstrip("/") for name in listed)


def _tracked(project: Path) -> frozenset[str] | None:
    listed = _git(project, "ls-files", "-z")
    return None if listed is None else frozenset(listed)


def _git(project: Path, *words: str) -> list[str] | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=project, capture_output=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _tidy(name: str) -> str:
    return os.path.normpath(name).replace(os.sep, "/").rstrip("/")


def _copy(source: Path, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    # What is read-only in the project is edited in a copy all the same.
    target.chmod(target.stat().st_mode | stat.S_IWUSR)
    return _hash_of(target)


def _link(source: Path, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(Path(os.path.realpath(source)))
    return _state_of(source)


def _hash_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _state_of(linked: Path) -> str:
    """What can be known of data without reading it: size and time of a file, the entries of a folder."""
    try:
        status = linked.stat()
        if not stat.S_ISDIR(status.st_mode):
            return f"file {status.st_size} {status.st_mtime_ns}"
        return f"folder {len(os.listdir(linked))} {status.st_mtime_ns}"
    except OSError as problem:
        return f"missing: {problem.strerror}"
