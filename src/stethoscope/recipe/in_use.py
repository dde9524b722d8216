"""Which of the settings around a run are the ones it used, and whether they changed since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.recipe.wandb_config import unwrapped
from stethoscope.run import ConfigFile, Document, Recipe, Setting, Unread
from stethoscope.run.checkpoint_files import in_checkpoint_folder
from stethoscope.run.file_times import LogFile, changed_after
from stethoscope.run.folder import Entry
from stethoscope.run.repository import is_project

MAX_BYTES = 1 << 20  # longer than any settings file people write
MOST_FILES = 50
KEYS_NAMED = 5  # differing keys that a note spells out

# Settings of other tools that live beside a training.
_OTHER_TOOLS = re.compile(
    r"^(?:\.pre-commit-config|\.?travis|\.gitlab-ci|mkdocs|docker-compose.*|compose|environment.*|conda.*|action"
    r"|dependabot|codecov|meta|MLmodel|hydra|overrides|dvc|_config|CITATION|pnpm-lock|buildspec|cog)$",
    re.IGNORECASE,
)
_JSON_SETTINGS = re.compile(r"config|cfg|arg|opt|hparam|hyper|param|setting|recipe", re.IGNORECASE)
_JSON_OTHER = re.compile(
    r"token|vocab|generation|preprocessor|processor|index|package|state|result|metric|summary|metadata|schema"
    r"|dataset|annotation|tsconfig|eval|predict|launch|history",
    re.IGNORECASE,
)
# Keys that frameworks add when they parse the settings, before they record them.
_ADDED_AT_START = frozenset({"dist", "rank", "world_size", "is_train", "root_path", "local_rank"})
# Files that a framework writes when a run starts.
_RECORDS = re.compile(
    r"^(?:hparams|training_options|training_args|.*dump.*)\.\w+$|^args\.json$", re.IGNORECASE
)
# Folders that frameworks write runs into; what lies in them is a record of what ran.
_RECORD_FOLDERS = re.compile(
    r"^(?:experiments?|runs?|outputs?|results?|logs?|lightning_logs|wandb|mlruns|work_dirs?|multirun|\.hydra"
    r"|checkpoints?|ckpts?|saves?|snapshots?|exp|recorded|examples)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What there is to choose from: the run's folder and files, its logs, and its repository's settings.

    `heads` is the beginning of the logs, where a run often names its settings file. `lone_log` says that
    one log was named and its folder may hold other runs' files.
    """

    root: Path
    files: Sequence[Entry]
    logs: Sequence[LogFile] = ()
    heads: str = ""
    repository: Sequence[Entry] = ()
    lone_log: bool = False


def looks_like_settings(entry: Entry) -> bool:
    """Whether a file's name says that it holds the settings of a training."""
    syntax = syntax_of(entry.name)
    stem = entry.path.stem
    if syntax is None or _OTHER_TOOLS.match(stem) or "mlruns" in entry.path.parts:
        return False
    if syntax == "json":
        return bool(_JSON_SETTINGS.search(stem)) and not _JSON_OTHER.search(stem)
    return not stem.startswith(".")


def given_recipe(entry: Entry, around: Surroundings) -> tuple[Recipe | None, tuple[Unread, ...]]:
    """The settings of a file that the user named."""
    unread: list[Unread] = []
    loaded = _load(entry, "given", True, around, unread)
    recorded = _recorded(around, unread)
    files = [_compared(loaded, recorded)] if loaded is not None else []
    return _recipe(files), tuple(unread)


def recipe_in_use(around: Surroundings) -> tuple[Recipe | None, tuple[Unread, ...]]:
    """The settings a run used, as far as the files around it tell."""
    unread: list[Unread] = []
    recorded = _recorded(around, unread)
    candidates = _read_all(around, unread)
    chosen = _chosen(candidates, recorded, around, unread)
    if not any(one.config.maintained for one in chosen):
        chosen = [*chosen, *_in_repository(recorded, chosen, around, unread)]
    chosen = [_compared(one, recorded) for one in chosen]
    # What the log recorded is what ran: it comes first, unless a file says exactly the same.
    unmatched = [one for one in recorded if not any(_same(one, other) for other in chosen)]
    return _recipe([*unmatched, *chosen]), tuple(unread)


@dataclass(frozen=True, slots=True)
class _Loaded:
    config: ConfigFile
    settings: tuple[Setting, ...]
    entry: Entry | None = None

    def values(self) -> dict[str, object]:
        return {setting.dotted: setting.value for setting in self.settings}


def _recipe(files: Sequence[_Loaded]) -> Recipe | None:
    if not files:
        return None
    settings = tuple(setting for one in files for setting in one.settings)
    return Recipe(settings, tuple(one.config for one in files))


def _recorded(around: Surroundings, unread: list[Unread]) -> list[_Loaded]:
    """The settings dumped in the logs, the latest first, each text once."""
    found: list[_Loaded] = []
    for document in (document for file in reversed(around.logs) for document in file.log.documents):
        one = _load_document(document, unread)
        if one is not None and one.settings and not any(_same(one, other) for other in found):
            found.append(one)
    return found


def _load_document(document: Document, unread: list[Unread]) -> _Loaded | None:
    try:
        settings = read_settings(document.text, document.file, document.syntax, document.first_line)
    except UnreadableFile as problem:
        unread.append(Unread(document.file, f"the settings recorded inside: {_said(problem, document.file)}"))
        return None
    config = ConfigFile(document.file, document.text, "log", document.syntax, False, False)
    return _Loaded(config, settings)


def _read_all(around: Surroundings, unread: list[Unread]) -> list[_Loaded]:
    """Every settings file in the run's folder, those nearest its top first."""
    entries = [
        entry
        for entry in around.files
        if looks_like_settings(entry) and not in_checkpoint_folder(entry.path, around.root)
    ]
    entries.sort(key=lambda entry: (len(entry.path.parts), entry.file))
    if len(entries) > MOST_FILES:
        unread.append(
            Unread(str(around.root), f"{len(entries)} settings files; the first {MOST_FILES} were read")
        )
    found = []
    for entry in entries[:MOST_FILES]:
        recorded = is_record(entry, around.root)
        origin = "snapshot" if recorded and entry.path.parent != around.root else "run"
        one = _load(entry, origin, not recorded, around, unread)
        if one is not None and one.settings:
            found.append(one)
    return found


def is_record(entry: Entry, root: Path) -> bool:
    """Whether a file in a run's folder was written by the run rather than kept by a person."""
    if _RECORDS.match(entry.name):
        return True
    below = entry.path.parent.relative_to(root).parts if root in entry.path.parents else ()
    above = () if is_project(root) else root.absolute().parts[-3:-1]
    return any(_RECORD_FOLDERS.match(part) for part in (*below, *above))


def _load(
    entry: Entry, origin: str, maintained: bool, around: Surroundings, unread: list[Unread]
) -> _Loaded | None:
    syntax = syntax_of(entry.name) or "yaml"
    try:
        if entry.size > MAX_BYTES:
            raise UnreadableFile(f"{entry.size:,} bytes are too many for a settings file")
        text = entry.path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        settings = unwrapped(read_settings(text, entry.file, syntax), entry.name, entry.path.parts)
    except OSError as problem:
        unread.append(Unread(entry.file, (problem.strerror or str(problem)).lower()))
        return None
    except UnreadableFile as problem:
        unread.append(Unread(entry.file, _said(problem, entry.file)))
        return None
    changed = changed_after(around.logs, [entry])
    config = ConfigFile(entry.file, text, origin, syntax, maintained, changed, _repeated(settings))
    return _Loaded(config, settings, entry)


def _repeated(settings: Iterable[Setting]) -> str:
    """A sentence on keys that a file sets more than once."""
    said = [
        f"{setting.dotted} is set on lines {', '.join(str(place.line) for place in setting.replaces)} and "
        f"{setting.where.line}; the last one counts"
        for setting in settings
        if setting.replaces
    ]
    return "; ".join(said[:KEYS_NAMED])


def _chosen(
    candidates: list[_Loaded], recorded: list[_Loaded], around: Surroundings, unread: list[Unread]
) -> list[_Loaded]:
    """Those the logs name or recorded; else those at the top of the run; else the only one there is."""
    if not around.logs:
        return candidates
    tied = [one for one in candidates if _is_tied(one, recorded, around.heads)]
    if tied:
        return tied
    at_top = [one for one in candidates if one.entry is not None and one.entry.path.parent == around.root]
    records = [one for one in candidates if not one.config.maintained and one not in at_top]
    if len(candidates) <= 1 or (not around.lone_log and (at_top or records)):
        return [*records, *at_top] or candidates
    names = ", ".join(one.config.file for one in candidates[:3])
    reason = f"{len(candidates)} settings files ({names} ...) and no sign which one ran; give it by --config"
    unread.append(Unread(str(around.root), reason))
    return []


def _is_tied(one: _Loaded, recorded: list[_Loaded], heads: str) -> bool:
    return _named(one, heads) or any(_same(one, other) or _same_name(one, other) for other in recorded)


def _named(one: _Loaded, heads: str) -> bool:
    name = Path(one.config.file).name
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", heads) is not None


def _same_name(one: _Loaded, other: _Loaded) -> bool:
    names = [loaded.values().get("name") for loaded in (one, other)]
    return names[0] is not None and names[0] == names[1]


def _in_repository(
    recorded: list[_Loaded], chosen: list[_Loaded], around: Surroundings, unread: list[Unread]
) -> list[_Loaded]:
    """The maintained file in the repository that the run's settings came from, where one is tied to it."""
    known = [*recorded, *chosen]
    stems = {Path(one.config.file).name for one in chosen}
    found = []
    for entry in around.repository[:MOST_FILES]:
        quiet: list[Unread] = []  # a broken file that may not concern this run is not worth a line
        one = _load(entry, "repository", True, around, quiet)
        if one is None or not one.settings:
            continue
        if _is_tied(one, known, around.heads) or entry.name in stems:
            found.append(one)
    if len(found) > 1:  # several of one name: only those that say what was recorded
        found = [one for one in found if any(_same(one, other) for other in known)] or found[:1]
    return found


def _compared(one: _Loaded, recorded: Sequence[_Loaded]) -> _Loaded:
    """The file with what the log says about it: whether its content changed since, and where."""
    if not recorded:
        return one
    differing = min((_differing(one, other) for other in recorded), key=len)
    if not differing:
        return replace(one, config=replace(one.config, changed_after_start=False))
    shown = ", ".join(differing[:KEYS_NAMED]) + (" ..." if len(differing) > KEYS_NAMED else "")
    note = f"differs from what the log recorded in {shown}"
    note = f"{one.config.note}; {note}" if one.config.note else note
    return replace(one, config=replace(one.config, changed_after_start=True, note=note))


def _same(one: _Loaded, other: _Loaded) -> bool:
    return not _differing(one, other)


def _differing(one: _Loaded, other: _Loaded) -> list[str]:
    """The keys on which a file and a record disagree. A record of what was parsed has defaults besides."""
    ours, theirs = one.values(), other.values()
    differing = [key for key, value in ours.items() if key not in theirs or not _equal(value, theirs[key])]
    if not _ADDED_AT_START.intersection(theirs):
        differing += [key for key in theirs if key not in ours]
    return differing


def _equal(one: object, other: object) -> bool:
    if one == other or str(one) == str(other) or "auto" in (one, other):
        return True  # a record holds what "auto" became
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return False


def _said(problem: UnreadableFile, file: str) -> str:
    return str(problem).removeprefix(f"{file}: ")
