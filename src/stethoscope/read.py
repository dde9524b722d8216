"""read: one path in, one `Run` out. What could not be read is listed with the reason, never dropped."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from stethoscope.errors import NothingToRead, SeveralRuns, UnreadableFile
from stethoscope.logs import Head, formats, head_of, read_as, splice, surest
from stethoscope.logs.bundles import bundled, read_bundle
from stethoscope.logs.rivals import belong_together, of_one_run
from stethoscope.logs.run_folders import run_folders
from stethoscope.program import in_use as source_in_use
from stethoscope.recipe import in_use as settings_in_use
from stethoscope.recipe.packages import packages_of
from stethoscope.run import Log, Package, Program, Recipe, Run, Unread
from stethoscope.run.checkpoint_files import by_epoch, checkpoints_in, in_checkpoint_folder, is_checkpoint
from stethoscope.run.file_times import LogFile, told_by_themselves
from stethoscope.run.folder import Entry, entry_of, walk
from stethoscope.run.place import Place, place_of
from stethoscope.run.proof import proofs
from stethoscope.run.repository import is_project, repository_of

MOST_LOGS = 100
LAST_VALUES_ONLY = "last values only, and another log has what led there"
NAMED_UNREAD = 5  # files of one folder and reason that are listed one by one

FEW_DIGITS = 8  # in the first lines of a text: with fewer it tells no numbers

LOOKED_FOR = (
    "TensorBoard, W&B and MLflow records, CSV, JSON and Parquet tables, text logs, .yml, .json, .toml and "
    ".py settings, shell launchers, .py source"
)

# Files that no one expects to be read: not worth a line.
_IRRELEVANT_NAMES = re.compile(
    r"^(?:readme|licen[cs]e|copying|authors|changelog|changes|contributing|notice|citation|makefile|dockerfile"
    r"|requirements.*\.txt|constraints.*\.txt|\..*|.*\.lock|wandb-metadata.*|output_dir|version|merges\.txt|vocab\.txt)",
    re.IGNORECASE,
)
_LOG_ENDINGS = frozenset(
    {"", ".log", ".txt", ".out", ".err", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".stdout", ".stderr"}
)
# Records of a run that are named when they cannot be read, and archives of such.
_RECORDS = re.compile(
    r"tfevents|\.wandb$|\.(?:parquet|feather|arrow|db|sqlite3?)$|\.(?:log|txt|out|csv|jsonl?)\.(?:gz|xz|bz2|zst|zip)$"
)
_HEAD_OF_NAMES = 20_000  # characters at the start of a log in which it names its settings and script


def read(
    path: Path | str | Sequence[Path | str],
    config: Path | str | None = None,
    code: Path | str | None = None,
) -> Run:
    """Read everything there is about the run at `path`: a folder, a log, or "-" for standard input.

    Several paths are read as one run; raises SeveralRuns where they tell of more than one. `config` and
    `code` name the settings and the source to use instead of those found around the run.
    """
    place = place_of(path)
    try:
        logs, about_logs = _logs(place)
        program, about_source = _program(place, logs, _given(code, "code"))
        recipe, about_settings = _recipe(place, logs, program, _given(config, "settings"), code)
        checkpoints = checkpoints_in(place.folder.files, place.root)
        packages = _packages(place, logs, recipe)
        unread = _in_short([*place.folder.unread, *about_logs, *about_settings, *about_source])
    finally:
        place.clear()
    if not (logs or recipe or program):
        raise NothingToRead(_nothing(place.shown, unread))
    spliced = splice([file.log for file in logs])
    axes = {series.axis for series in spliced.series.values() if len(series)}
    return Run(
        place.shown,
        place.name,
        tuple(file.log for file in logs),
        spliced.series,
        spliced.abandoned,
        spliced.segments,
        recipe=recipe,
        program=program,
        checkpoints=by_epoch(checkpoints) if axes == {"epoch"} else checkpoints,
        unread=unread,
        notes=spliced.notes,
        packages=packages,
        proofs=proofs(place.root),
    )


def _given(path: Path | str | None, what: str) -> Path | None:
    if path is None:
        return None
    if not Path(path).exists():
        raise NothingToRead(f"{path}: no such file or folder to read the {what} from.")
    return Path(path)


def _logs(place: Place) -> tuple[tuple[LogFile, ...], list[Unread]]:
    """Every log of the run, in the order of the files' names."""
    files, unread = logs_at(place, MOST_LOGS)
    kept = latest_state(files, place.root)
    for summary in summaries_beside_histories(kept):
        unread.append(Unread(summary.entry.file, LAST_VALUES_ONLY))
        kept.remove(summary)
    own = of_one_run(kept, unread)
    if place.several:
        _must_fit(place, kept, [one for one in unread if one.another_run])
    return told_by_themselves(own, place.folder.files), unread


def logs_at(place: Place, most: int) -> tuple[list[LogFile], list[Unread]]:
    """Every log at a place, whichever run it is of, and the files that only might have been one."""
    unread: list[Unread] = []
    files: list[LogFile] = []
    bundles, alone = ([], place.given) if place.given else bundled(place.folder.files)
    for entry in alone if place.given else _log_candidates(alone):
        if len(files) >= most:
            unread.append(Unread(place.shown, f"only the first {most:,} logs were read"))
            break
        log = _log(entry, unread, asked_for=bool(place.given))
        if log is not None:
            files.append(LogFile(log, entry))
    for bundle in bundles[: most - len(files)]:
        try:
            files.append(read_bundle(bundle))
        except UnreadableFile as problem:
            unread.append(Unread(bundle.shown, str(problem).removeprefix(f"{bundle.shown}: ")))
    return files, unread


def _must_fit(place: Place, files: Sequence[LogFile], others: Sequence[Unread]) -> None:
    """Refuse several paths that tell of several runs: joining them would make up a run nobody trained."""
    homes = run_folders(files, place.root)
    groups: dict[Path, list[LogFile]] = defaultdict(list)
    for file in files:
        groups[homes[file.entry.path.parent]].append(file)
    apart = list(groups.values())
    joined, apart = apart[:1], apart[1:]
    while fitting := [one for one in apart if any(belong_together(one, other) for other in joined)]:
        joined += fitting
        apart = [one for one in apart if one not in fitting]
    if apart or others:
        named = (
            [_spoken(group, place) for group in (*joined, *apart)] if apart else _files_apart(files, others)
        )
        raise SeveralRuns(
            f"these paths lead to more than one run: {listed(named)}. Examine each by itself, as in "
            f"`stethoscope {named[0]}`; `stethoscope logs` lists them side by side."
        )


def _spoken(group: Sequence[LogFile], place: Place) -> str:
    first = group[0].entry.file
    return first if place.given and len(group) == 1 else os.path.dirname(first) or first


def _files_apart(files: Sequence[LogFile], others: Sequence[Unread]) -> list[str]:
    """A log of the run that would be examined, and the logs of others beside it."""
    names = [one.file for one in others]
    return [*[file.entry.file for file in files if file.entry.file not in names][:1], *names]


def listed(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = len(names) - NAMED_UNREAD
    return ", ".join(names[:NAMED_UNREAD]) + (f" and {more:,} more" if more > 0 else "")


def _log_candidates(entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if not (entry.name.endswith(".py") or is_checkpoint(entry) or _IRRELEVANT_NAMES.match(entry.name)):
            yield entry


def _log(entry: Entry, unread: list[Unread], asked_for: bool) -> Log | None:
    """Read one file if it is a log. A file that only might have been one is named when it is not."""
    try:
        head = replace(head_of(entry.path, entry.file), named=asked_for)
        reader = surest(head)
        if reader is not None or asked_for or _is_worth_a_line(entry, head):
            return read_as(reader, head)
    except UnreadableFile as problem:
        if not (settings_in_use.looks_like_settings(entry) or entry.name.endswith(".py")):
            unread.append(Unread(entry.file, str(problem).removeprefix(f"{entry.file}: ")))
    except OSError as problem:
        unread.append(Unread(entry.file, (problem.strerror or str(problem)).lower()))
    except Exception as bug:
        if os.environ.get("STETHOSCOPE_DEBUG"):
            raise
        # One file that a reader stumbles over must not hide all the others.
        said = f"a fault of its reader, not of the file: {type(bug).__name__}: {bug}; please report it"
        unread.append(Unread(entry.file, said))
    return None


def _is_worth_a_line(entry: Entry, head: Head) -> bool:
    """Whether a file that is no log is one that somebody may have expected to be read."""
    if _RECORDS.search(entry.name):
        return True
    if entry.path.suffix.lower() not in _LOG_ENDINGS:
        return False
    return head.size == 0 or (not head.binary and len(re.findall(r"\d", head.text[:4096])) > FEW_DIGITS)


def latest_state(files: Sequence[LogFile], root: Path) -> list[LogFile]:
    """Leave out what a checkpoint folder kept of the log, where the log itself or a later copy is there.

    Each `checkpoint-<step>` folder of the Hugging Face Trainer repeats the history up to its step.
    """
    kept = [file for file in files if not in_checkpoint_folder(file.entry.path, root)]
    copies = [file for file in files if in_checkpoint_folder(file.entry.path, root)]
    formats = {file.log.format for file in kept}
    for name in sorted({file.log.format for file in copies} - formats):
        kept.append(
            max((file for file in copies if file.log.format == name), key=lambda file: _last_step(file.log))
        )
    return kept


def summaries_beside_histories(files: Sequence[LogFile]) -> list[LogFile]:
    """The files that hold only last values, where others hold what led there."""
    names = {reader.FORMAT for reader in formats() if getattr(reader, "SUMMARY", False)}
    summaries = [file for file in files if file.log.format in names]
    return summaries if any(file.log.series for file in files if file not in summaries) else []


def _last_step(log: Log) -> int:
    return max((int(one.steps[-1]) for one in log.series if len(one)), default=-1)


def _recipe(
    place: Place,
    logs: Sequence[LogFile],
    program: Program | None,
    given: Path | None,
    code: Path | str | None,
) -> tuple[Recipe | None, tuple[Unread, ...]]:
    files = _settings_files(place)
    around = settings_in_use.Surroundings(
        place.root, files, logs, _heads(logs), lone_log=bool(place.given and logs), program=program
    )
    if given is not None:
        return settings_in_use.given_recipe(entry_of(given, str(given)), around)
    repository = Path(code) if code is not None and Path(code).is_dir() else _repository(place)
    if repository is not None and logs:
        settings, launchers = _repository_settings(repository)
        around = replace(around, repository=settings, launchers=launchers)
    return settings_in_use.recipe_in_use(around)


def _settings_files(place: Place) -> tuple[Entry, ...]:
    """The files of a run that may be settings; beside a named log, those in the same folder."""
    if not place.given:
        return place.folder.files
    named = tuple(entry for entry in place.given if settings_in_use.looks_like_settings(entry))
    if named:
        return named
    return tuple(entry for entry in place.folder.files if entry.path.parent == place.root)


def _heads(logs: Sequence[LogFile]) -> str:
    """What the logs say first: it often names the settings file and the script."""
    said = []
    for file in logs[-3:]:
        try:
            said.append(head_of(file.entry.path, file.entry.file).text[:_HEAD_OF_NAMES])
        except OSError:
            continue
    return "\n".join((*said, *(file.entry.file for file in logs)))


def _packages(place: Place, logs: Sequence[LogFile], recipe: Recipe | None) -> tuple[Package, ...]:
    """The versions that the run, its settings, or the pins of its project record."""
    repository = _repository(place)
    pins = walk(repository, _shown(repository), max_depth=0).files if repository is not None else ()
    heads = [(file.entry.file, _heads([file])) for file in logs[-3:]]
    return packages_of((*place.folder.files, *pins), heads, recipe)


def _repository(place: Place) -> Path | None:
    if place.temporary is not None or is_project(place.root):
        return None
    return repository_of(place.root)


def _repository_settings(root: Path) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The settings files that a repository keeps, and the scripts that may start a training."""
    files = walk(root, _shown(root), max_depth=4).files
    kept = [entry for entry in files if not settings_in_use.is_record_in_project(entry, root)]
    settings = tuple(entry for entry in kept if settings_in_use.looks_like_settings(entry))
    return settings, tuple(entry for entry in kept if settings_in_use.is_launcher(entry))


def _program(
    place: Place, logs: Sequence[LogFile], given: Path | None
) -> tuple[Program | None, tuple[Unread, ...]]:
    if given is not None:
        return _given_program(given, logs)
    files = _own_source(place)
    if files:
        return _own_program(place, files, logs)
    repository = _repository(place)
    if repository is None or not logs:
        return None, ()
    entries = walk(repository, _shown(repository)).files
    sources = tuple(entry for entry in entries if source_in_use.is_training_code(entry, repository))
    around = _source_surroundings(repository, _shown(repository), sources, logs)
    return source_in_use.program_in_repository(around)


def _own_source(place: Place) -> list[Entry]:
    """The Python files kept with the run. Beside a named log, only a training or a snapshot is its own."""
    files = [entry for entry in place.folder.files if source_in_use.is_training_code(entry, place.root)]
    if not place.given:
        return files
    if named := [entry for entry in place.given if entry.name.endswith(".py")]:
        return named
    near = [e for e in files if e.path.parent == place.root and source_in_use.trains(e)]
    beside = [e for e in files if e.path.parent == place.root]
    kept = [e for e in files if source_in_use.SNAPSHOTS.match(e.path.relative_to(place.root).parts[0])]
    return beside if near else kept


def _given_program(given: Path, logs: Sequence[LogFile]) -> tuple[Program | None, tuple[Unread, ...]]:
    root, shown = (given, str(given)) if given.is_dir() else (given.parent, os.path.dirname(str(given)))
    files = walk(given, shown).files if given.is_dir() else (entry_of(given, str(given)),)
    return source_in_use.program_of(_source_surroundings(root, shown, files, logs), "given")


def _own_program(
    place: Place, files: list[Entry], logs: Sequence[LogFile]
) -> tuple[Program | None, tuple[Unread, ...]]:
    """The source kept with the run: the project it was made in, or a snapshot of it."""
    shown = os.path.dirname(place.shown) if place.given and not place.several else place.shown
    root = place.root
    tops = {entry.path.relative_to(root).parts[0] for entry in files if entry.path.parent != root}
    in_snapshot = not is_project(root) and all(entry.path.parent != root for entry in files)
    if in_snapshot and len(tops) == 1 and source_in_use.SNAPSHOTS.match(top := tops.pop()):
        around = _source_surroundings(root / top, os.path.join(shown, top), files, logs)
        return source_in_use.program_of(around, "snapshot", maintained=False)
    maintained = is_project(root) or not settings_in_use.is_record(files[0], root)
    around = _source_surroundings(root, shown, files, logs)
    return source_in_use.program_of(around, "run", maintained)


def _source_surroundings(
    root: Path, shown: str, files: Iterable[Entry], logs: Sequence[LogFile]
) -> source_in_use.Surroundings:
    series = tuple({one.logged_as for file in logs for one in file.log.series})
    return source_in_use.Surroundings(root, shown, tuple(files), logs, _heads(logs), series)


def _shown(path: Path) -> str:
    """A path found rather than typed: relative where it lies below the working directory."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _in_short(unread: Iterable[Unread]) -> tuple[Unread, ...]:
    """The list of what was not read, with crowds of one folder and reason told in one line."""
    crowds: dict[tuple[str, str], list[Unread]] = defaultdict(list)
    for one in dict.fromkeys(unread):
        crowds[os.path.dirname(one.file), one.reason].append(one)
    short = []
    for (folder, reason), members in crowds.items():
        short.extend(members[:NAMED_UNREAD])
        if len(members) > NAMED_UNREAD:
            more = len(members) - NAMED_UNREAD
            short.append(Unread(folder or ".", f"{more:,} more: {reason}"))
    return tuple(short)


def _nothing(shown: str, unread: Sequence[Unread]) -> str:
    message = f"no log, settings or code found in {shown}. Looked for: {LOOKED_FOR}."
    if unread:
        listed = "; ".join(f"{one.file}: {one.reason}" for one in unread[:NAMED_UNREAD])
        message += f" Could not be read: {listed}{' ...' if len(unread) > NAMED_UNREAD else ''}."
    return message
