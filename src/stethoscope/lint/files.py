"""The files that lint reads: those asked about, and those around them that tell what they mean."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.errors import NothingToRead
from stethoscope.lint.settings import LintSettings, settings_above
from stethoscope.program import in_use as source_in_use
from stethoscope.recipe import in_use as settings_in_use
from stethoscope.recipe import syntax_of
from stethoscope.run import Unread
from stethoscope.run.folder import Entry, entry_of, walk
from stethoscope.run.repository import is_project, repository_of

STDIN = "-"
SHOWN_STDIN = "<stdin>"
LOOKED_FOR = ".py source, settings such as .yml, .toml and .json, and shell scripts"
ARTEFACTS = (".log", ".pth", ".pt", ".ckpt", ".safetensors", ".state", ".wandb")
RUN_DEPTH = 4  # folders deep in a run's own in which it keeps settings and source
EVENTS = "events.out.tfevents"
# Folders that nothing but a run writes into; others, such as experiments/, may hold what a person keeps.
_ONLY_RECORDS = frozenset({".hydra", "wandb", "mlruns", "lightning_logs", "multirun", "recorded"})
_SETTINGS_PATH = re.compile(
    r"^(?:configs?|cfgs?|conf|options?|settings|recipes?|hparams)(?:[_.]|$)", re.IGNORECASE
)
RECORD = "a record of a run, which nobody maintains; give its folder to examine it"
NOT_TRAINING = "tests, documentation or other people's code; give the file to examine it"


@dataclass(frozen=True, slots=True)
class Files:
    """The files to read. `asked` are those that findings are told about, `named` those given one by one.

    `root` is the project they lie in, from which modules are named. `records` are files that a run wrote,
    which are never changed. `held` is content that stands for a file's own.
    """

    root: Path
    sources: tuple[Entry, ...] = ()
    settings_files: tuple[Entry, ...] = ()
    launchers: tuple[Entry, ...] = ()
    asked: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    held: Mapping[Path, bytes] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()
    passed: tuple[Unread, ...] = ()
    settings: LintSettings = field(default_factory=LintSettings)

    def content(self, entry: Entry) -> bytes:
        """What a file holds; raises OSError where it cannot be read."""
        held = self.held.get(entry.path)
        return entry.path.read_bytes() if held is None else held


def gather(
    paths: Sequence[str],
    *,
    standard_input: bytes | None = None,
    stdin_filename: str | None = None,
    changed: Collection[Path] | None = None,
) -> Files:
    """Find the files below the paths and in the project around them; raises NothingToRead for no path.

    `standard_input` is what "-" stands for, as if it were the file `stdin_filename`. `changed` restricts what
    is asked about to these files.
    """
    held: dict[Path, bytes] = {}
    given = [_given(path, standard_input, stdin_filename, held) for path in dict.fromkeys(paths)]
    around = _common_folder(given)
    settings = settings_above(around)
    project = _project(around)
    found = _Found(settings, project)
    for one in given:
        _look_below(one, found)
    if not (found.asked or found.passed or found.unread):
        raise NothingToRead(f"nothing to lint in {', '.join(paths)}. Looked for: {LOOKED_FOR}.")
    if project is not None:
        _look_around(project, around, found)
    asked = [entry for entry in found.asked.values() if changed is None or _is_among(entry.path, changed)]
    everything = {**found.around, **found.asked}.values()
    return Files(
        project or _above_packages(around),
        tuple(entry for entry in everything if entry.name.endswith(".py") or entry.path in held),
        tuple(entry for entry in everything if entry.path not in held and _is_settings(entry, found)),
        tuple(entry for entry in everything if settings_in_use.is_launcher(entry)),
        frozenset(entry.file for entry in asked),
        frozenset(found.named),
        frozenset(found.records),
        held,
        tuple(found.unread),
        tuple(found.passed),
        settings,
    )


@dataclass(frozen=True, slots=True)
class _Given:
    path: Path  # absolute
    shown: str
    is_folder: bool
    in_memory: bool = False


@dataclass(slots=True)
class _Found:
    settings: LintSettings
    project: Path | None
    asked: dict[Path, Entry] = field(default_factory=dict)
    around: dict[Path, Entry] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    records: set[str] = field(default_factory=set)
    unread: list[Unread] = field(default_factory=list)
    passed: list[Unread] = field(default_factory=list)
    runs: dict[Path, bool] = field(default_factory=dict)  # folders that were looked into for artefacts


def _given(path: str, standard_input: bytes | None, filename: str | None, held: dict[Path, bytes]) -> _Given:
    if path == STDIN:
        shown = filename or SHOWN_STDIN
        place = Path(os.path.abspath(shown))
        held[place] = standard_input or b""
        return _Given(place, shown, False, True)
    try:
        mode = os.stat(path).st_mode
    except OSError as problem:
        raise NothingToRead(f"{path}: {(problem.strerror or str(problem)).lower()}.") from None
    except ValueError:
        raise NothingToRead(f"{path!r} is not a path.") from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise NothingToRead(f"{path} is neither a file nor a folder; - reads source from standard input.")
    return _Given(Path(os.path.abspath(path)), path, stat.S_ISDIR(mode))


def _common_folder(given: Sequence[_Given]) -> Path:
    if not given:
        raise NothingToRead("no path was given.")
    return Path(os.path.commonpath([one.path if one.is_folder else one.path.parent for one in given]))


def _look_below(given: _Given, found: _Found) -> None:
    if not given.is_folder:
        entry = (
            Entry(given.path, given.shown, 0, 0.0) if given.in_memory else entry_of(given.path, given.shown)
        )
        # Pre-commit names every file that changed, and an exclusion holds for those, too.
        if found.settings.excludes(given.path):
            found.passed.append(Unread(given.shown, f"excluded by {found.settings.file}"))
        else:
            found.asked[given.path] = replace(entry, file=os.path.normpath(given.shown))
            found.named.add(os.path.normpath(given.shown))
            if _is_record(entry, found.project or given.path.parent, found):
                found.records.add(os.path.normpath(given.shown))
        return
    folder = walk(given.path, given.shown, wanted=_may_matter)
    found.unread.extend(replace(one, file=os.path.normpath(one.file)) for one in folder.unread)
    found.passed.extend(Unread(os.path.normpath(name), "never holds a training") for name in folder.passed)
    root = found.project or given.path
    in_run = _is_record(Entry(given.path / "train.py", "", 0, 0.0), root, found)
    for entry in map(_normal, folder.files):
        if found.settings.excludes(entry.path):
            found.passed.append(Unread(entry.file, f"excluded by {found.settings.file}"))
        elif entry.name.endswith(".py") and not source_in_use.is_training_code(entry, given.path):
            found.passed.append(Unread(entry.file, NOT_TRAINING))
        elif not in_run and _is_record(entry, root, found):
            found.passed.append(Unread(entry.file, RECORD))
        elif entry.name.endswith(".py") or _is_of_settings(entry):
            found.asked[entry.path] = entry
            if in_run:
                found.records.add(entry.file)


def _look_around(project: Path, home: Path, found: _Found) -> None:
    """The rest of the project: what the files asked about import, who imports them, what they are set by."""
    own_runs = _runs_asked_about(found)
    for entry in map(_normal, walk(project, _shown(project), wanted=_may_matter).files):
        # What lies beside a script in tests/ or benchmarks/ is its own, and elsewhere it is not.
        base = home if home in entry.path.parents else project
        relevant = (
            source_in_use.is_training_code(entry, base)
            if entry.name.endswith(".py")
            else _is_of_settings(entry)
        )
        if not relevant or entry.path in found.asked:
            continue
        if own_runs.intersection(entry.path.parents) or not _is_record(entry, project, found):
            found.around[entry.path] = entry


def _runs_asked_about(found: _Found) -> frozenset[Path]:
    """The folders of the runs whose records were asked about: their other records tell what those mean."""
    return frozenset(
        next(folder for folder in reversed(above) if _holds_a_run(folder, found))
        for entry in found.asked.values()
        if entry.file in found.records
        for above in [list(entry.path.parents)[:RUN_DEPTH]]
    )


def _is_settings(entry: Entry, found: _Found) -> bool:
    """Whether a file is settings: by its name, or because somebody asked about it and nothing else.

    A hook names every file that changed, data and other tools' settings among them.
    """
    meant = found.named == {entry.file} and not entry.name.endswith(".py")
    return _looks_like_settings(entry) or (meant and syntax_of(entry.name) not in {None, "shell"})


def _is_of_settings(entry: Entry) -> bool:
    return _looks_like_settings(entry) or settings_in_use.is_launcher(entry)


def _looks_like_settings(entry: Entry) -> bool:
    # Any Python file could be read as settings; one that is meant so says it in its path.
    meant = not entry.name.endswith(".py") or any(map(_SETTINGS_PATH.search, entry.path.parts[-3:]))
    return meant and settings_in_use.looks_like_settings(entry)


def _may_matter(name: str) -> bool:
    return name.endswith(".py") or syntax_of(name) is not None


def _normal(entry: Entry) -> Entry:
    return replace(entry, path=Path(os.path.abspath(entry.path)), file=os.path.normpath(entry.file))


def _project(folder: Path) -> Path | None:
    """The project that a folder is or lies in, where it lies there as a part of it."""
    project = folder if is_project(folder) else repository_of(folder)
    if project is None or project == Path.home():
        return None
    below = folder.relative_to(project).parts
    foreign = {"site-packages", "dist-packages", "node_modules"}
    return None if any(part.startswith(".") or part in foreign for part in below) else project


def _above_packages(folder: Path) -> Path:
    """The folder from which the packages around are imported."""
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
    return folder


def _is_record(entry: Entry, root: Path, found: _Found) -> bool:
    """Whether a run wrote a file: its place says so, and where that is not sure, what lies with it."""
    if not settings_in_use.is_record(entry, root):
        return False
    if _ONLY_RECORDS.intersection(entry.path.parts):
        return True
    within = (root, *root.parents[: 0 if is_project(root) else 1])
    above = [folder for folder in entry.path.parents if folder in within or root in folder.parents]
    return any(_holds_a_run(folder, found) for folder in above[:RUN_DEPTH])


def _holds_a_run(folder: Path, found: _Found) -> bool:
    if folder not in found.runs:
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        found.runs[folder] = any(
            name.lower().endswith(ARTEFACTS) or name.startswith(EVENTS) or name == ".hydra" for name in names
        )
    return found.runs[folder]


def _is_among(path: Path, files: Collection[Path]) -> bool:
    return path in files or Path(os.path.realpath(path)) in files


def _shown(path: Path) -> str:
    """A path found rather than typed: relative where it lies below the working directory."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
