"""Every file met at a path and what it was taken for, run by run. Nothing is lost silently."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.logs import Head, head_of, splice
from stethoscope.logs._reading.other_formats import other_format
from stethoscope.logs.retelling import tell_the_same
from stethoscope.logs.rivals import folders_of_one_run, runs_among
from stethoscope.logs.run_folders import run_folders
from stethoscope.logs.splice import of_first_rank
from stethoscope.read import LAST_VALUES_ONLY, latest_state, logs_at, summaries_beside_histories
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.recipe.in_use import MAX_BYTES, looks_like_settings
from stethoscope.run import Log, Segment, Series, Unread
from stethoscope.run.checkpoint_files import in_checkpoint_folder, is_checkpoint, step_of
from stethoscope.run.file_times import LogFile, told_by_themselves
from stethoscope.run.folder import Entry
from stethoscope.run.place import Place, Where, place_of

MOST_LOGS = 5_000  # of a tree; a run has a few

CHECKPOINTS_COPY = "a copy kept with a checkpoint; the latest telling counts"
OF_ANOTHER_RANK = "of another rank; rank 0 speaks for all"


class Kind(StrEnum):
    """What a file was taken for."""

    LOG = "log"
    SETTINGS = "settings"
    SOURCE = "source"
    CHECKPOINT = "checkpoint"
    DOCUMENT = "document"
    NOT_READ = "not read"


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """A file and what it was taken for. `said` is the log's format, or the reason it was not read.

    A log that does not count among its run's series says why in `left_out`; `same_as` names the log
    that tells the same values.
    """

    file: str
    size: int
    kind: Kind
    said: str = ""
    log: Log | None = None
    left_out: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A run's series under its canonical name, and the series of the logs that it was joined from."""

    series: Series
    sources: tuple[Series, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListedRun:
    """One run: its files, its joined series, the stretches between its restarts, and how it was joined."""

    path: str
    files: tuple[Met, ...]
    series: Mapping[str, Told] = field(default_factory=dict)
    abandoned: tuple[Series, ...] = ()
    segments: tuple[Segment, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def logs(self) -> tuple[Log, ...]:
        """The logs that count."""
        return tuple(met.log for met in self.files if met.log is not None and not met.left_out)

    @property
    def points(self) -> int:
        """How many values its logs gave."""
        return sum(log.points for log in self.logs)


@dataclass(frozen=True, slots=True, eq=False)
class Inventory:
    """The runs at a path, the files that belong to none, and the places that were not looked into."""

    path: str
    runs: tuple[ListedRun, ...]
    files: tuple[Met, ...] = ()
    unread: tuple[Unread, ...] = ()
    passed: tuple[str, ...] = ()


def take_stock(path: Where | Sequence[Where]) -> Inventory:
    """Meet every file at a path, or at several, read those that are logs, and tell the runs apart."""
    place = place_of(path)
    try:
        logs, unread = logs_at(place, MOST_LOGS)
        return _inventory(place, logs, [*place.folder.unread, *unread])
    finally:
        place.clear()


def _inventory(place: Place, logs: Sequence[LogFile], unread: Sequence[Unread]) -> Inventory:
    members, parts = _members(logs, place.root)
    around = _by_run(place.files, parts)
    reasons = {one.file: one.reason for one in unread}
    runs = [
        run
        for folder, files in sorted(members.items())
        for run in _runs_in(folder, files, around.pop(folder, []), reasons)
    ]
    met = {entry.file for entry in place.files}
    return Inventory(
        place.shown,
        tuple(runs),
        tuple(_taken_for(entry, reasons, place.root) for left in around.values() for entry in left),
        tuple(one for one in unread if one.file not in met),
        place.folder.passed,
    )


def _members(logs: Sequence[LogFile], root: Path) -> tuple[dict[Path, list[LogFile]], dict[Path, Path]]:
    """The logs of each run folder, and to which run folder each folder that keeps a part of a run belongs."""
    homes = run_folders(logs, root)
    apart: dict[Path, list[LogFile]] = {}
    for file in logs:
        apart.setdefault(homes[file.entry.path.parent], []).append(file)
    first = folders_of_one_run(apart)
    whole = {run: _folder_above(run, first) for run in first.values()}
    parts = {folder: whole[run] for folder, run in first.items()} | {run: run for run in whole.values()}
    members: dict[Path, list[LogFile]] = {}
    for file in logs:
        members.setdefault(parts[homes[file.entry.path.parent]], []).append(file)
    return members, parts


def _folder_above(run: Path, first: Mapping[Path, Path]) -> Path:
    """The folder that holds all parts of a run, where it holds no other run; else the first part."""
    own = [folder for folder, of in first.items() if of == run]
    above = Path(os.path.commonpath(own))
    others = [folder for folder, of in first.items() if of != run]
    return run if any(above == other or above in other.parents for other in others) else above


def _by_run(entries: Sequence[Entry], parts: Mapping[Path, Path]) -> dict[Path | None, list[Entry]]:
    """The files by the run folder they belong to; None for those in no run."""
    nearest: dict[Path, Path | None] = {}
    found: dict[Path | None, list[Entry]] = {}
    for entry in entries:
        home = entry.path.parent
        if home not in nearest:
            nearest[home] = next((parts[above] for above in (home, *home.parents) if above in parts), None)
        found.setdefault(nearest[home], []).append(entry)
    return found


# --- one run folder -----------------------------------------------------------------------------------


def _runs_in(
    folder: Path, files: Sequence[LogFile], entries: Sequence[Entry], reasons: Mapping[str, str]
) -> list[ListedRun]:
    """The runs of a folder; the first one has the files that are no logs."""
    read = {entry.file for file in files for entry in (file.entry, *file.parts)}
    others = [_taken_for(entry, reasons, folder) for entry in entries if entry.file not in read]
    files = told_by_themselves(files, entries)
    kept = latest_state(files, folder)
    counting = set(map(id, kept))
    others = [*(_met_log(file, CHECKPOINTS_COPY) for file in files if id(file) not in counting), *others]
    for summary in summaries_beside_histories(kept):
        others.append(_met_log(summary, LAST_VALUES_ONLY))
        kept.remove(summary)
    others = [*(_met_part(part, file) for file in files for part in file.parts), *others]
    runs = runs_among(kept)
    paths = [_shown(folder, run[0].entry) if len(runs) == 1 else run[0].entry.file for run in runs]
    return [
        _listed(path, run, others if run is runs[0] else []) for path, run in zip(paths, runs, strict=True)
    ]


def _shown(folder: Path, entry: Entry) -> str:
    """The name of a run folder, as the files in it are shown."""
    if folder not in entry.path.parents:
        return os.path.dirname(entry.file)
    below = entry.path.relative_to(folder).parts
    shown = entry.file
    for _ in below:
        shown = os.path.dirname(shown)
    return shown or (entry.file if len(below) == 1 else ".")


def _listed(path: str, files: Sequence[LogFile], others: Sequence[Met]) -> ListedRun:
    spliced = splice([file.log for file in files])
    speaking = of_first_rank([file.log for file in files])
    met: list[Met] = []
    for file in files:
        same = next((one.file for one in met if one.log and tell_the_same(one.log, file.log)), "")
        why = "" if file.log in speaking else OF_ANOTHER_RANK
        met.append(_met_log(file, why, same))
    told = {
        name: Told(series, tuple(own for log in speaking for own in log.series if own.name == name))
        for name, series in spliced.series.items()
    }
    return ListedRun(path, (*met, *others), told, spliced.abandoned, spliced.segments, spliced.notes)


def _met_log(file: LogFile, left_out: str = "", same_as: str = "") -> Met:
    return Met(file.entry.file, file.entry.size, Kind.LOG, file.log.format, file.log, left_out, same_as)


def _met_part(part: Entry, whole: LogFile) -> Met:
    return Met(part.file, part.size, Kind.LOG, f"part of {whole.entry.name}")


# --- what is no log -----------------------------------------------------------------------------------

_SOURCE = re.compile(
    r"\.(?:pyi?|ipynb|sh|bash|slurm|sbatch|c|h|cc|cpp|cu|cuh|js|ts|java|go|rs|lua|r|m|jl)$", re.I
)
_DOCUMENT = re.compile(
    r"^(?:readme|licen[cs]e|copying|authors|changelog|contributing|notice|citation)|\.(?:md|rst|tex|html?|pdf|docx?|bib)$",
    re.IGNORECASE,
)
_OF_OTHER_TOOLS = re.compile(
    r"^(?:makefile|dockerfile|requirements.*\.txt|constraints.*\.txt|.*\.lock|.*\.(?:ya?ml|toml|ini|cfg))$",
    re.I,
)
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tiff?|svg|mp4|avi|mov|wav|flac|mp3|ogg)$", re.IGNORECASE)
_DATA = re.compile(
    r"\.(?:npy|npz|pkl|pickle|mat|lmdb|mdb|bin|idx|arrow|feather|h5|hdf5|tar|onnx|pb)$", re.IGNORECASE
)


def _taken_for(entry: Entry, reasons: Mapping[str, str], root: Path) -> Met:
    kind, said = _kind(entry, reasons.get(entry.file, ""), root)
    return Met(entry.file, entry.size, kind, said)


def _kind(entry: Entry, reason: str, root: Path) -> tuple[Kind, str]:
    """What a file is that gave no log, by its name first: nothing else is opened."""
    if is_checkpoint(entry):
        return Kind.CHECKPOINT, _of_step(entry, root)
    if looks_like_settings(entry):
        return Kind.SETTINGS, _settings(entry)
    if _SOURCE.search(entry.name):
        return Kind.SOURCE, ""
    if _DOCUMENT.search(entry.name):
        return Kind.DOCUMENT, ""
    if reason:
        return Kind.NOT_READ, reason
    return Kind.NOT_READ, _why_not(entry)


def _of_step(entry: Entry, root: Path) -> str:
    step = step_of(entry.name)
    if step is None and in_checkpoint_folder(entry.path, root):
        folders = takewhile(lambda parent: parent != root, entry.path.parents)
        step = next((step for folder in folders if (step := step_of(folder.name)) is not None), None)
    return f"step {step:,}" if step is not None else ""


def _settings(entry: Entry) -> str:
    """How many settings a file holds, or why they cannot be read."""
    if entry.size > MAX_BYTES:
        return f"not read: {entry.size:,} bytes are too many for a settings file"
    try:
        text = entry.path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        many = len(read_settings(text, entry.file, syntax_of(entry.name) or "yaml"))
    except OSError as problem:
        return f"not read: {(problem.strerror or str(problem)).lower()}"
    except UnreadableFile as problem:
        return f"not read: {str(problem).removeprefix(entry.file).lstrip(': ')}"
    return f"{many:,} settings" if many != 1 else "1 setting"


def _why_not(entry: Entry) -> str:
    if entry.name.startswith("."):
        return "hidden"
    if entry.size == 0:
        return "empty"
    if _PICTURE.search(entry.name):
        return "a picture or recording"
    if _DATA.search(entry.name):
        return "data, or weights under no name of a checkpoint"
    if _OF_OTHER_TOOLS.match(entry.name):
        return "of another tool"
    try:
        return _by_content(head_of(entry.path, entry.file))
    except UnreadableFile as problem:
        return str(problem).removeprefix(f"{entry.file}: ")
    except OSError as problem:
        return (problem.strerror or str(problem)).lower()


def _by_content(head: Head) -> str:
    if head.binary or re.search(r"\d", head.text):
        return other_format(head)
    return "a text without numbers"
