"""Which of the settings around a run are the ones it used, and whether they changed since."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import hydra_in_use, python_settings, read_settings, read_settings_file, syntax_of
from stethoscope.recipe._files import MAX_BYTES, Files, text_of
from stethoscope.recipe.interpolation import loaded_by_omegaconf
from stethoscope.recipe.launchers import Signs, Started, launchers_in, started_by
from stethoscope.recipe.lightning_cli_config import as_loaded
from stethoscope.recipe.parser_defaults import Option, options_of, taken_by, unsaid
from stethoscope.recipe.training_words import holds_training
from stethoscope.recipe.wandb_config import unwrapped
from stethoscope.run import ConfigFile, Document, Program, Recipe, Setting, Unread
from stethoscope.run.checkpoint_files import in_checkpoint_folder
from stethoscope.run.file_times import LogFile, changed_after
from stethoscope.run.folder import Entry
from stethoscope.run.repository import is_project

__all__ = [
    "MAX_BYTES",
    "Surroundings",
    "given_recipe",
    "is_launcher",
    "is_record",
    "is_record_in_project",
    "launched_recipe",
    "leads_to",
    "looks_like_settings",
    "recipe_in_use",
]

MOST_FILES = 50
KEYS_NAMED = 5  # differing keys that a note spells out
LIKE = 0.5  # of a file's keys that a run's settings know: the same project at another time has most of them

# Settings of other tools that live beside a training.
_OTHER_TOOLS = re.compile(
    r"^(?:\.pre-commit-config|\.?travis|\.gitlab-ci|mkdocs|docker-compose.*|compose|environment.*|conda.*|action"
    r"|dependabot|codecov|meta|MLmodel|hydra|overrides|dvc|_config|CITATION|pnpm-lock|buildspec|cog"
    r"|pyproject|cargo|rust-toolchain|ruff|uv|pixi|poetry|pipfile|taplo|netlify|book|tox|towncrier|cliff|typos"
    r"|stethoscope)$",
    re.IGNORECASE,
)
_JSON_SETTINGS = re.compile(
    r"config|cfg|arg|opt|hparam|hyper|param|setting|recipe|deepspeed|^ds_|^zero_?\d", re.IGNORECASE
)
# Where Python files with settings are kept, and what they are called elsewhere.
_PYTHON_FOLDERS = re.compile(
    r"^(?:.*_)?(?:configs?|confs?|cfgs?|options?|settings|recipes|hparams|_base_)$", re.IGNORECASE
)
_PYTHON_NAMES = re.compile(
    r"(?:^|_)(?:configs?|conf|cfg|settings|hparams|hps|hyper_?parameters?|hyper_?params|options|params)(?:_|$)",
    re.IGNORECASE,
)
_FOLDERS_NEAR = 3  # folders above a Python file that may say what it is
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
    one log was named and its folder may hold other runs' files. `launchers` are the shell scripts of the
    run's repository, and `program` is the source that ran, whose parsers have defaults.
    """

    root: Path
    files: Sequence[Entry]
    logs: Sequence[LogFile] = ()
    heads: str = ""
    repository: Sequence[Entry] = ()
    lone_log: bool = False
    launchers: Sequence[Entry] = ()
    program: Program | None = None


def looks_like_settings(entry: Entry) -> bool:
    """Whether a file holds the settings of a training: by its name, or for JSON by the names in it."""
    syntax = syntax_of(entry.name)
    stem = entry.path.stem
    if syntax is None or _OTHER_TOOLS.match(stem) or "mlruns" in entry.path.parts:
        return False
    if syntax == "json":
        named = _JSON_SETTINGS.search(stem)
        return not _JSON_OTHER.search(stem) and (named is not None or holds_training(entry))
    if syntax == "python":
        return _is_python_settings(entry)
    return syntax != "shell" and not stem.startswith(".")


def is_launcher(entry: Entry) -> bool:
    """Whether a file is a shell script, which may start a training."""
    return syntax_of(entry.name) == "shell"


def _is_python_settings(entry: Entry) -> bool:
    """Whether a Python file is kept as settings are and holds nothing else."""
    near = entry.path.absolute().parts[-1 - _FOLDERS_NEAR : -1]
    kept = _PYTHON_NAMES.search(entry.path.stem) or any(_PYTHON_FOLDERS.match(part) for part in near)
    if not kept or entry.name == "__init__.py" or entry.size > MAX_BYTES:
        return False
    try:
        return python_settings.looks_like_settings(text_of(entry.path, entry.file))
    except UnreadableFile:
        return False


def given_recipe(entry: Entry, around: Surroundings) -> tuple[Recipe | None, tuple[Unread, ...]]:
    """The settings of a file that the user named."""
    unread: list[Unread] = []
    loaded = _given(entry, around, unread)
    recorded = _recorded(around, unread)
    files = [_compared(loaded, recorded)] if loaded is not None else []
    return _recipe(files, None, around), tuple(unread)


def recipe_in_use(around: Surroundings) -> tuple[Recipe | None, tuple[Unread, ...]]:
    """The settings a run used, as far as the files around it tell."""
    unread: list[Unread] = []
    recorded = _recorded(around, unread)
    started = _started(around, recorded, unread)
    signs = _signs(around, recorded, started)
    candidates = _read_all(around, signs, unread)
    chosen = _chosen(candidates, signs, around, unread)
    if not any(one.config.maintained for one in chosen):
        chosen = [*chosen, *_in_repository(signs, chosen, around)]
    chosen = [_compared(one, recorded) for one in _editable_first(chosen)]
    # What the log recorded is what ran: it comes first, unless a file says exactly the same.
    unmatched = [one for one in recorded if not any(_same(one, other) for other in chosen)]
    return _recipe([*unmatched, *chosen], started, around), tuple(unread)


def _editable_first(chosen: Sequence[_Loaded]) -> list[_Loaded]:
    """A file that a person keeps before the record that says the same: the one named first is edited.

    Hydra's record stays first, since it knows what the command line set.
    """
    return sorted(chosen, key=lambda one: not (one.config.maintained and _is_recorded_in(chosen, one)))


def _is_recorded_in(chosen: Iterable[_Loaded], kept: _Loaded) -> bool:
    return any(_same(kept, one) for one in chosen if not one.config.maintained and not _is_of_hydra(one))


def _is_of_hydra(one: _Loaded) -> bool:
    return one.entry is not None and one.entry.path.parent.name == hydra_in_use.RECORD_FOLDER


def launched_recipe(started: Started, around: Surroundings) -> tuple[Recipe | None, tuple[Unread, ...]]:
    """The settings of a training that a launcher starts: what it types, over the files that it names.

    Where it names none of the files around, all of them count.
    """
    unread: list[Unread] = []
    signs = _signs(around, (), started)
    candidates = _read_all(around, signs, unread)
    named = [one for one in candidates if _is_launched(one, signs)]
    chosen = sorted(named or candidates, key=lambda one: _later_first(one, signs))
    return _recipe(chosen, started, around), tuple(unread)


@dataclass(frozen=True, slots=True)
class _Signs:
    """What tells which settings a run used: what it recorded, what its logs say first, how it was started."""

    recorded: Sequence[_Loaded]
    heads: str
    started: Started | None
    hydra: hydra_in_use.Record | None

    @property
    def named(self) -> tuple[str, ...]:
        """The settings files that the launcher names, in its order."""
        return self.started.launch.named if self.started is not None else ()


def _signs(around: Surroundings, recorded: Sequence[_Loaded], started: Started | None) -> _Signs:
    return _Signs(recorded, around.heads, started, hydra_in_use.record_in(around.files))


def _started(around: Surroundings, recorded: Sequence[_Loaded], unread: list[Unread]) -> Started | None:
    """The launcher that started the run, where the run points to one or has only one."""
    own = launchers_in(around.files, unread)
    quiet: list[Unread] = []  # a broken script that may not concern this run is not worth a line
    others = launchers_in(around.launchers, quiet)
    logs = tuple(file.entry.name for file in around.logs)
    return started_by(own, others, Signs(logs, around.heads, [one.values() for one in recorded]))


def _given(entry: Entry, around: Surroundings, unread: list[Unread]) -> _Loaded | None:
    """A file that the user named; one that lists Hydra's defaults is composed."""
    trees = hydra_in_use.trees_in([entry])
    if not trees:
        return _load(entry, "given", True, around, unread)
    signs = _signs(around, (), None)
    return _load_tree(trees[0], entry.path.stem, "given", True, signs, around, unread)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A settings file, the files it builds on, and the settings of them all."""

    config: ConfigFile
    settings: tuple[Setting, ...]
    entry: Entry | None = None
    builds_on: tuple[ConfigFile, ...] = ()

    def values(self) -> dict[str, object]:
        return {setting.dotted: setting.value for setting in self.settings}


def _recipe(files: Sequence[_Loaded], started: Started | None, around: Surroundings) -> Recipe | None:
    """The layers as one recipe: what was recorded, the command line, the files, the parsers' defaults."""
    script = started.launch.script if started is not None else ""
    options = options_of(around.program, script) if around.program is not None else ()
    typed = _typed(started, files, options)
    is_told = started is not None and bool(typed or started.launch.exports)
    if not files and not is_told:
        return None
    over = {setting.dotted for setting in typed}
    records = [one for one in files if one.config.origin == "log"]
    others = [one for one in files if one.config.origin != "log"]
    settings = [setting for one in records for setting in one.settings]
    settings += typed
    shadowed: list[Setting] = []
    for one in others:
        for setting in one.settings:
            # A record of what was composed holds the command line's values already.
            lost = one.config.maintained and setting.dotted in over and setting not in typed
            (shadowed if lost else settings).append(setting)
    defaults = list(unsaid(options, settings))
    free = {id(setting) for setting in defaults}
    shadowed += [option.setting for option in options if id(option.setting) not in free]
    configs = [config for one in records for config in (one.config, *one.builds_on)]
    configs += [_launcher(started, around)] if started is not None and is_told else []
    configs += [config for one in others for config in (one.config, *one.builds_on)]
    return Recipe(tuple(settings), tuple(configs), tuple(shadowed), tuple(defaults))


def _typed(
    started: Started | None, files: Sequence[_Loaded], options: Sequence[Option]
) -> tuple[Setting, ...]:
    """What the command line gives, less what is part of a composed file already."""
    if started is None:
        return ()
    composed = {setting.where for one in files for setting in one.settings}
    overrides = [s for s in started.launch.overrides if s.where not in composed]
    return taken_by(options, (*started.launch.settings, *overrides))


def _launcher(started: Started, around: Surroundings) -> ConfigFile:
    entry = started.entry
    maintained = not is_record(entry, around.root)
    changed = changed_after(around.logs, [entry])
    return ConfigFile(entry.file, started.text, "launcher", "shell", maintained, changed)


def _recorded(around: Surroundings, unread: list[Unread]) -> list[_Loaded]:
    """The settings dumped in the logs, the latest first, each text once."""
    found: list[_Loaded] = []
    for file in reversed(around.logs):
        read = [_load_document(document, unread) for document in file.log.documents]
        for one in _latest_first([one for one in read if one is not None and one.settings]):
            if not any(_same(one, other) for other in found):
                found.append(one)
    return found


def _latest_first(records: Sequence[_Loaded]) -> list[_Loaded]:
    """The records of one log; of those with the same keys, which a restart repeats, the last comes first."""
    places: dict[frozenset[str], list[int]] = {}
    for place, one in enumerate(records):
        places.setdefault(frozenset(one.values()), []).append(place)
    ordered = list(records)
    for alike in places.values():
        for place, other in zip(alike, reversed(alike), strict=True):
            ordered[place] = records[other]
    return ordered


def _load_document(document: Document, unread: list[Unread]) -> _Loaded | None:
    try:
        settings = read_settings(document.text, document.file, document.syntax, document.first_line)
    except UnreadableFile as problem:
        unread.append(Unread(document.file, f"the settings recorded inside: {_said(problem, document.file)}"))
        return None
    config = ConfigFile(document.file, document.text, "log", document.syntax, False, False)
    return _Loaded(config, settings)


def _read_all(around: Surroundings, signs: _Signs, unread: list[Unread]) -> list[_Loaded]:
    """Every settings file in the run's folder, those it names first, then those nearest its top."""
    entries = [
        entry
        for entry in around.files
        if _is_candidate(entry, signs) and not in_checkpoint_folder(entry.path, around.root)
    ]
    found, entries = _read_trees(entries, "run", signs, around, unread)
    entries.sort(key=lambda entry: (not _is_named(entry, signs), len(entry.path.parts), entry.file))
    if len(entries) > MOST_FILES:
        unread.append(
            Unread(str(around.root), f"{len(entries)} settings files; the first {MOST_FILES} were read")
        )
    for entry in entries[:MOST_FILES]:
        recorded = is_record(entry, around.root)
        origin = "snapshot" if recorded and entry.path.parent != around.root else "run"
        one = _load(entry, origin, not recorded, around, unread)
        if one is not None and one.settings:
            found.append(one)
    built_on = {config.file for one in found for config in one.builds_on}
    kept = [one for one in found if one.config.file not in built_on]
    return sorted(kept, key=lambda one: (len(Path(one.config.file).parts), one.config.file))


def _is_candidate(entry: Entry, signs: _Signs) -> bool:
    """Whether a file is called as settings are, or is named by the launcher."""
    if looks_like_settings(entry):
        return True
    syntax = syntax_of(entry.name)
    return syntax not in {None, "shell"} and any(leads_to(name, entry) for name in signs.named)


def _is_named(entry: Entry, signs: _Signs) -> bool:
    return any(leads_to(name, entry) for name in signs.named) or _said_by(entry.name, signs.heads)


def leads_to(name: str, entry: Entry) -> bool:
    """Whether a path that a launcher gives is that of a file, seen from wherever it was started."""
    wanted = Path(os.path.normpath(name)).parts
    wanted = tuple(part for part in wanted if part not in {os.pardir, os.sep} and "$" not in part)
    return bool(wanted) and entry.path.absolute().parts[-len(wanted) :] == wanted


def _read_trees(
    entries: list[Entry], origin: str, signs: _Signs, around: Surroundings, unread: list[Unread]
) -> tuple[list[_Loaded], list[Entry]]:
    """The Hydra trees among some files, composed, and the files that are none of theirs."""
    found: list[_Loaded] = []
    for tree in hydra_in_use.trees_in(entries):
        name = hydra_in_use.primary_of(tree, signs.hydra, signs.started, around.program)
        inside = [entry for entry in entries if tree.holds(entry)]
        if name is None or not inside:
            continue
        maintained = origin == "repository" or not is_record(inside[0], around.root)
        one = _load_tree(tree, name, origin, maintained, signs, around, unread)
        found += [one] if one is not None else []
        entries = [entry for entry in entries if not tree.holds(entry)]
    return found, entries


def _load_tree(
    tree: hydra_in_use.Tree,
    name: str,
    origin: str,
    maintained: bool,
    signs: _Signs,
    around: Surroundings,
    unread: list[Unread],
) -> _Loaded | None:
    try:
        settings, opened, missing = hydra_in_use.composed(tree, name, signs.hydra, signs.started)
    except UnreadableFile as problem:
        unread.append(Unread(tree.shown, str(problem).removeprefix(f"{tree.shown}: ")))
        return None
    if not opened or not settings:
        return None
    changed = changed_after(around.logs, [entry for entry in around.files if tree.holds(entry)])
    note = f"not found in the tree: {', '.join(missing[:KEYS_NAMED])}" if missing else ""
    configs = [ConfigFile(one.file, one.text, origin, "yaml", maintained, changed) for one in opened]
    primary = replace(configs[0], note=note)
    entry = next((entry for entry in around.files if entry.path == opened[0].path), None)
    return _Loaded(primary, settings, entry, tuple(configs[1:]))


def is_record(entry: Entry, root: Path) -> bool:
    """Whether a file in a run's folder was written by the run rather than kept by a person."""
    above = () if is_project(root) else root.absolute().parts[-3:-1]
    return is_record_in_project(entry, root) or any(map(_RECORD_FOLDERS.match, above))


def is_record_in_project(entry: Entry, root: Path) -> bool:
    """The same for a folder that is known to be a project, whatever the folders around it are called."""
    below = entry.path.parent.relative_to(root).parts if root in entry.path.parents else ()
    return _RECORDS.match(entry.name) is not None or any(map(_RECORD_FOLDERS.match, below))


def _load(
    entry: Entry, origin: str, maintained: bool, around: Surroundings, unread: list[Unread]
) -> _Loaded | None:
    syntax = syntax_of(entry.name) or "yaml"
    files = Files()
    try:
        opened = files.read(entry.path, entry.file)
        settings = read_settings_file(opened, syntax, files)
        settings = as_loaded(unwrapped(settings, entry.name, entry.path.parts))
        if syntax == "yaml" and hydra_in_use.lies_in_tree(entry.path):
            settings = loaded_by_omegaconf(settings)
    except UnreadableFile as problem:
        unread.append(Unread(entry.file, _said(problem, entry.file)))
        return None
    note = _repeated(settings, entry.file)
    if entry.path.parent.name == hydra_in_use.RECORD_FOLDER:
        settings, overridden = _as_hydra_recorded(settings, around)
        note = overridden or note
    changed = changed_after(around.logs, [entry])
    config = ConfigFile(entry.file, opened.text, origin, syntax, maintained, changed, note)
    others = [other for other in files.opened.values() if other.path != opened.path]
    builds_on = tuple(ConfigFile(o.file, o.text, origin, syntax, maintained, changed) for o in others)
    return _Loaded(config, settings, entry, builds_on)


def _as_hydra_recorded(
    settings: tuple[Setting, ...], around: Surroundings
) -> tuple[tuple[Setting, ...], str]:
    """A `.hydra/config.yaml` as Hydra loads it; what the command line overrode says so."""
    settings = loaded_by_omegaconf(settings)
    record = hydra_in_use.record_in(around.files)
    given = {override.path: override.node.where for override in (record.overrides if record else ())}
    marked = tuple(
        replace(setting, through=(*setting.through, given[setting.key])) if setting.key in given else setting
        for setting in settings
    )
    names = [setting.dotted for setting in settings if setting.key in given]
    shown = ", ".join(names[:KEYS_NAMED]) + (" ..." if len(names) > KEYS_NAMED else "")
    return marked, f"the command line set {shown}" if names else ""


def _repeated(settings: Iterable[Setting], file: str) -> str:
    """A sentence on keys that a file sets more than once."""
    said = []
    for setting in settings:
        lines = [str(place.line) for place in setting.replaces if place.file == file]
        if lines and setting.where.file == file:
            said.append(
                f"{setting.dotted} is set on lines {', '.join(lines)} and {setting.where.line}; "
                "the last one counts"
            )
    return "; ".join(said[:KEYS_NAMED])


def _chosen(
    candidates: list[_Loaded], signs: _Signs, around: Surroundings, unread: list[Unread]
) -> list[_Loaded]:
    """Those the logs or the launcher name or recorded; else those at the top; else the only one there is."""
    tied = [one for one in candidates if _is_tied(one, signs)]
    if not around.logs:
        return tied if any(_is_launched(one, signs) for one in tied) else candidates
    if tied:
        return sorted(tied, key=lambda one: (one.config.maintained, *_later_first(one, signs)))
    at_top = [one for one in candidates if one.entry is not None and one.entry.path.parent == around.root]
    records = [one for one in candidates if not one.config.maintained and one not in at_top]
    if len(candidates) <= 1 or (not around.lone_log and (at_top or records)):
        return [*records, *at_top] or candidates
    names = ", ".join(one.config.file for one in candidates[:3])
    reason = f"{len(candidates)} settings files ({names} ...) and no sign which one ran; give it by --config"
    unread.append(Unread(str(around.root), reason))
    return []


def _later_first(one: _Loaded, signs: _Signs) -> tuple[int]:
    """Of several files on one command line, the one named last wins."""
    entry = one.entry
    named = [at for at, name in enumerate(signs.named) if entry is not None and leads_to(name, entry)]
    return (-max(named, default=-1),)


def _is_launched(one: _Loaded, signs: _Signs) -> bool:
    return one.entry is not None and any(leads_to(name, one.entry) for name in signs.named)


def _is_tied(one: _Loaded, signs: _Signs) -> bool:
    if _is_launched(one, signs) or _said_by(Path(one.config.file).name, signs.heads):
        return True
    return any(_same(one, other) or _same_name(one, other) for other in signs.recorded)


def _said_by(name: str, heads: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", heads) is not None


def _same_name(one: _Loaded, other: _Loaded) -> bool:
    names = [loaded.values().get("name") for loaded in (one, other)]
    return names[0] is not None and names[0] == names[1]


def _in_repository(signs: _Signs, chosen: list[_Loaded], around: Surroundings) -> list[_Loaded]:
    """The maintained file in the repository that the run's settings came from, where one is tied to it."""
    known = replace(signs, recorded=[*signs.recorded, *chosen])
    stems = {Path(one.config.file).name for one in chosen}
    quiet: list[Unread] = []  # a broken file that may not concern this run is not worth a line
    trees, entries = _read_trees(list(around.repository), "repository", signs, around, quiet)
    found = [one for one in trees if (signs.hydra and _resembles(one, chosen)) or _is_tied(one, known)]
    entries.sort(key=lambda entry: not _is_named(entry, signs))
    for entry in entries[:MOST_FILES]:
        one = _load(entry, "repository", True, around, quiet)
        if one is None or not one.settings:
            continue
        if _is_tied(one, known) or (entry.name in stems and _resembles(one, chosen)):
            found.append(one)
    if len(found) > 1:  # several of one name: only those that say what was recorded, or that were launched
        recorded = [one for one in found if any(_same(one, other) for other in known.recorded)]
        found = recorded or [one for one in found if _is_launched(one, signs)] or found[:1]
    return found or ([] if known.recorded else _read_by_source(entries, around))


def _read_by_source(entries: Iterable[Entry], around: Surroundings) -> list[_Loaded]:
    """The one file whose name stands in the source, where nothing else tells what the run was given."""
    named = [entry for entry in entries if _is_spelled_out(entry.name, around.program)]
    one = _load(named[0], "repository", True, around, []) if len(named) == 1 else None
    if one is None or not one.settings:
        return []
    note = "the run did not record its settings; the source names this file"
    return [replace(one, config=replace(one.config, note=f"{one.config.note}; {note}".removeprefix("; ")))]


def _is_spelled_out(name: str, program: Program | None) -> bool:
    literal = re.compile(rf"[\"'/]{re.escape(name)}[\"']")
    return any(literal.search(source.text) is not None for source in program or ())


def _resembles(one: _Loaded, chosen: Sequence[_Loaded]) -> bool:
    """Whether a file sets mostly what the run's settings set: `config.yaml` is a name that many have."""
    known = {key for other in chosen for key in other.values()}
    own = one.values()
    return not known or sum(key in known for key in own) >= LIKE * len(own)


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
