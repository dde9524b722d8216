"""The settings that neither the program nor its framework knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import index
from stethoscope.program.settings.option_schemas import Schema, matching, option_schemas
from stethoscope.program.settings.outside_calls import outside_calls
from stethoscope.program.settings.parsed_classes import parsed_classes
from stethoscope.program.settings.setting_uses import setting_uses
from stethoscope.recipe.schemas import Held, Record, Sections, called, held, nearest, sections
from stethoscope.run import ConfigFile, Key, Program, Run, Setting, Splice, Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.names_taken import Releases, not_taken, releases_of

FEWEST_SHARED = 2  # names that a section and a record must share to be taken for each other
SHARE = 0.6  # of a section's names that the record must know
# Keys that loaders themselves understand.
_OF_LOADERS = frozenset({"defaults", "hydra", "includes", "extends", "<<", "base", "inherit"})


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A key that is not known where it stands, the known name that was meant, and who says so.

    `history` says which versions know the key, where some do; `version_known` is false where the run's own
    version is not. `took_steps` says that the run trained with the key all the same. `strict` says that the
    key stops the run. `rename` puts the known name in its place, where only one can be meant.
    """

    name: str
    setting: Setting
    suggestion: str
    judge: str
    judge_where: Where | None = None
    history: str = ""
    version_known: bool = True
    took_steps: bool = False
    strict: bool = False
    rename: Splice | None = None


@dataclass(frozen=True, slots=True)
class UnknownSettings:
    """All unknown keys, and who judged."""

    settings: tuple[UnknownSetting, ...]
    judges: tuple[str, ...]


def measure(run: Run) -> UnknownSettings | Missing:
    """Compare every key with the option classes of the program, or with the framework's own list."""
    if run.recipe is None or not run.recipe.settings:
        return Missing(
            "no settings file was found with the run",
            log_this="copy the settings file into the run's folder, or name it by --config",
        )
    found: list[UnknownSetting] = []
    judges: list[str] = []
    trained = any(len(series) > 1 for series in run.series.values())
    for file in run.recipe.files:
        if file.syntax == "shell":
            continue  # a command line speaks to several parsers, and each stops at what it does not know
        settings = [setting for setting in run.recipe if setting.where.file == file.file]
        judged = _judge(settings, file, run, trained)
        if judged is not None:
            judges.append(judged[0])
            found.extend(judged[1])
    if not judges:
        return Missing(
            "neither the source's option classes nor a known framework says which settings there are"
        )
    return UnknownSettings(tuple(_each_key_once(found)), tuple(dict.fromkeys(judges)))


def _judge(
    settings: list[Setting], file: ConfigFile, run: Run, trained: bool
) -> tuple[str, list[UnknownSetting]] | None:
    """Whoever knows this file's keys, and the keys unknown to it."""
    took_steps = trained and file.changed_after_start is not True
    own = _by_program(settings, file, run, took_steps) if run.program is not None else None
    return own or _by_frameworks(settings, file, run, took_steps)


def _by_program(
    settings: list[Setting], file: ConfigFile, run: Run, took_steps: bool
) -> tuple[str, list[UnknownSetting]] | None:
    assert run.program is not None
    schemas = option_schemas(run.program)
    if any(schema.where.file == file.file for schema in schemas):
        return None  # the file declares the options that a settings file may set
    top = {str(setting.key[0]) for setting in settings if setting.key}
    root = matching(schemas, top)
    if root is not None:
        return root.title, list(_unknown(settings, 0, root, run, file, took_steps))
    found: list[UnknownSetting] = []
    titles = []
    for section in sorted(top):
        inside = [setting for setting in settings if len(setting.key) > 1 and str(setting.key[0]) == section]
        schema = matching(schemas, {str(setting.key[1]) for setting in inside}) if inside else None
        if schema is not None:
            titles.append(schema.title)
            found.extend(_unknown(inside, 1, schema, run, file, took_steps))
    return (", ".join(titles), found) if titles else None


def _unknown(
    settings: Iterable[Setting], depth: int, schema: Schema, run: Run, file: ConfigFile, took_steps: bool
) -> Iterator[UnknownSetting]:
    """The keys at one depth that a schema does not have, and those below that its sections do not have."""
    groups: dict[str | int, list[Setting]] = {}
    for setting in settings:
        if len(setting.key) > depth:
            groups.setdefault(setting.key[depth], []).append(setting)
    for part, members in groups.items():
        name = str(part)
        if schema.knows(name):
            yield from _inside(name, members, depth, schema, run, file, took_steps)
        elif (
            not _is_read(name, run)
            and name not in _OF_LOADERS
            and not name.startswith("_")
            and not _is_parameter(name, frozenset(map(str, groups)), run)
        ):
            path = ".".join(str(p) for p in members[0].key[: depth + 1])
            meant = nearest(name, schema.names)
            yield UnknownSetting(
                path,
                members[0],
                meant.name or _elsewhere(name, members[0].key, schema),
                schema.title,
                schema.where,
                took_steps=took_steps,
                rename=_rename(members[0], depth, meant.name, file) if meant.clear else None,
            )


def _inside(
    name: str,
    members: list[Setting],
    depth: int,
    schema: Schema,
    run: Run,
    file: ConfigFile,
    took_steps: bool,
) -> Iterator[UnknownSetting]:
    if name in schema.below:
        yield from _unknown(members, depth + 1, schema.below[name], run, file, took_steps)
    elif name in schema.each:
        elements: dict[str | int, list[Setting]] = {}
        for setting in members:
            if len(setting.key) > depth + 2:
                elements.setdefault(setting.key[depth + 1], []).append(setting)
        for inside in elements.values():
            yield from _unknown(inside, depth + 2, schema.each[name], run, file, took_steps)


def _is_read(name: str, run: Run) -> bool:
    """Whether the program takes anything of this name out of anything, or looks it up."""
    assert run.program is not None
    uses = setting_uses(run.program)
    if uses is None:
        return True
    return bool(uses.code.texts.get(name) or uses.code.attributes.get(name))


def _is_parameter(name: str, beside: frozenset[str], run: Run) -> bool:
    """Whether a function takes the key together with most others of its section, and so all of it."""
    assert run.program is not None
    taken = (set(function.parameters) for function in index(run.program).functions)
    return any(name in names and len(names & beside) >= SHARE * len(beside) for names in taken)


def _by_frameworks(
    settings: list[Setting], file: ConfigFile, run: Run, took_steps: bool
) -> tuple[str, list[UnknownSetting]] | None:
    """The sections that go to a framework, compared with what it takes there."""
    parted = sections(settings)
    releases = releases_of(run)
    held_here = list(_held(parted, run.program))
    if not held_here:
        return None
    judges = dict.fromkeys(one.record.table.framework for one in held_here)
    found = [
        unknown
        for one in held_here
        # A framework that refuses what it does not know would have stopped at the first such key.
        if not (took_steps and one.record.refuses)
        for unknown in _unknown_to(one, parted, file, run, releases, took_steps)
    ]
    return ", ".join(judges), found


def _held(parted: Sections, program: Program | None) -> Iterator[Held]:
    """What demonstrably goes to a framework: by what the file holds, or by what the program does with it."""
    for module, one in held(parted):
        if program is None or not module.PACKAGES or _imports(program, module.PACKAGES):
            yield one
    if program is not None:
        yield from _handed_over(parted, program)
        yield from _parsed(parted, program)


@lru_cache(maxsize=64)
def _imports(program: Program, packages: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"^\s*(?:from|import) +(?:{'|'.join(packages)})\b", re.MULTILINE)
    return any(pattern.search(source.text) for source in program)


def _handed_over(parted: Sections, program: Program) -> Iterator[Held]:
    """`Trainer(**cfg.trainer)`: the section of that name, where it holds what the Trainer takes."""
    for path, record, own in _unpacked(program):
        places = [key for key in parted if path and key[-len(path) :] == path]
        if len(places) == 1 and _fits(parted.names(*places[0]), record, own):
            yield Held(places[0], record, own)


@lru_cache(maxsize=4)
def _unpacked(program: Program) -> tuple[tuple[tuple[str, ...], Record, frozenset[str]], ...]:
    """The sections that calls of a framework take apart, with what these and the program's own code take."""
    known = ((call, called(call.name)) for call in outside_calls(program))
    return tuple(
        (path, record, call.own) for call, record in known if record is not None for path in call.unpacked()
    )


def _parsed(parted: Sections, program: Program) -> Iterator[Held]:
    """A flat file that a parser of arguments reads into classes of the program and of a framework."""
    for parser in parsed_classes(program):
        records = [called(name) for name in parser.outside]
        known = [record for record in records if record is not None]
        if known and len(known) == len(records):
            others = {name for record in known[1:] for one in record.lineage() for name in one.names}
            own = parser.own | others
            if _fits(parted.names(), known[0], own):
                yield Held((), known[0], own)


def _fits(names: frozenset[str], record: Record, own: frozenset[str]) -> bool:
    """Whether a section holds what a record takes, rather than something else of the same name."""
    taken = {name for one in record.lineage() for name in one.names}
    shared = len(names & taken)
    return shared >= FEWEST_SHARED and len(names & (taken | own)) >= SHARE * len(names)


def _unknown_to(
    one: Held, parted: Sections, file: ConfigFile, run: Run, releases: Releases, took_steps: bool
) -> Iterator[UnknownSetting]:
    """The names of one section that its record does not take."""
    inside = parted.inside.get(one.path, {})
    for name, setting in inside.items():
        if one.allows(name) or name in _OF_LOADERS:
            continue
        verdict = not_taken(one.record, name, releases, beside=tuple(inside))
        if verdict is None or (run.program is not None and _is_read(name, run)):
            continue
        if not one.record.refuses and verdict.history:
            continue  # the names that are only asked for somewhere have no history worth telling
        is_section = len(setting.key) > len(one.path) + 1
        if (one.mixed or is_section) and not (verdict.meant.clear or verdict.history):
            continue  # somebody else's key, or a section that a fork adds
        yield UnknownSetting(
            ".".join(str(part) for part in (*one.path, name)),
            setting,
            verdict.meant.name,
            _spoken(one.record),
            history=verdict.history,
            version_known=verdict.version_known,
            took_steps=took_steps,
            strict=one.record.refuses,
            rename=_rename(setting, len(one.path), verdict.meant.name, file) if verdict.meant.clear else None,
        )


def _spoken(record: Record) -> str:
    """A record as people name it: the class, or the framework whose file it is."""
    if record.calls:
        return f"{record.calls[0].rpartition('.')[2]} of {record.table.framework}"
    return record.table.framework


def _rename(setting: Setting, depth: int, name: str, file: ConfigFile) -> Splice | None:
    """The key's text replaced by another name, where it stands before its value in a maintained file."""
    if setting.span is None or len(setting.key) != depth + 1 or not file.maintained or "." in name:
        return None
    old = re.escape(str(setting.key[-1]))
    before = file.text[: setting.span[0]]
    found = re.search(rf"(?<![\w.-])(?P<key>{old})[\"']?\s*[:=]\s*(?:[&!]\S+\s+|[\"'])*$", before)
    return Splice(file.file, found.start("key"), found.end("key"), name) if found else None


def _elsewhere(name: str, key: Key, schema: Schema) -> str:
    """The section that does know the name, where it only stands in the wrong place."""
    for section, below in schema.below.items():
        if below.knows(name) and section not in key:
            return f"{section}.{name}"
    return ""


def _each_key_once(found: list[UnknownSetting]) -> Iterator[UnknownSetting]:
    seen: set[str] = set()
    for one in found:
        if one.name not in seen:
            seen.add(one.name)
            yield one
