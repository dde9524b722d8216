"""The settings that neither the program nor its framework knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType

from stethoscope.program.option_schemas import Schema, matching, option_schemas
from stethoscope.program.setting_uses import setting_uses
from stethoscope.recipe.schemas import framework_of
from stethoscope.run import ConfigFile, Key, Run, Setting, Where
from stethoscope.signals.missing import Missing

ALIKE = 0.6  # similarity from which another name is offered
# Keys that loaders themselves understand.
_OF_LOADERS = frozenset({"defaults", "hydra", "includes", "extends", "<<", "base", "inherit"})


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A key that is not known where it stands, the known name most like it, and who says so.

    `since` names the version that introduced the key, where a later one knows it; `version_known` is false
    where the run's own version is not. `took_steps` says that the run trained with the key all the same.
    """

    name: str
    setting: Setting
    suggestion: str
    judge: str
    judge_where: Where | None = None
    since: str = ""
    version_known: bool = True
    took_steps: bool = False
    strict: bool = False


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
    """The name of whoever knows this file's keys, and the keys unknown to it."""
    took_steps = trained and file.changed_after_start is not True
    if run.program is not None:
        own = _by_program(settings, run, took_steps)
        if own is not None:
            return own
        return None  # the source that ran is here and takes its settings as they come
    framework = framework_of({setting.dotted for setting in settings})
    if framework is None:
        return None
    if framework.STRICT and took_steps:
        return str(framework.FRAMEWORK), []  # it would have stopped at the first unknown key
    return str(framework.FRAMEWORK), list(_by_table(settings, framework, _start(run)))


def _by_program(
    settings: list[Setting], run: Run, took_steps: bool
) -> tuple[str, list[UnknownSetting]] | None:
    assert run.program is not None
    schemas = option_schemas(run.program)
    top = {str(setting.key[0]) for setting in settings if setting.key}
    root = matching(schemas, top)
    if root is not None:
        return root.title, list(_unknown(settings, 0, root, run, took_steps))
    found: list[UnknownSetting] = []
    titles = []
    for section in sorted(top):
        inside = [setting for setting in settings if len(setting.key) > 1 and str(setting.key[0]) == section]
        schema = matching(schemas, {str(setting.key[1]) for setting in inside}) if inside else None
        if schema is not None:
            titles.append(schema.title)
            found.extend(_unknown(inside, 1, schema, run, took_steps))
    return (", ".join(titles), found) if titles else None


def _unknown(
    settings: Iterable[Setting], depth: int, schema: Schema, run: Run, took_steps: bool
) -> Iterator[UnknownSetting]:
    """The keys at one depth that a schema does not have, and those below that its sections do not have."""
    groups: dict[str | int, list[Setting]] = {}
    for setting in settings:
        if len(setting.key) > depth:
            groups.setdefault(setting.key[depth], []).append(setting)
    for part, members in groups.items():
        name = str(part)
        if schema.knows(name):
            yield from _inside(name, members, depth, schema, run, took_steps)
        elif not _is_read(name, run) and name not in _OF_LOADERS and not name.startswith("_"):
            path = ".".join(str(p) for p in members[0].key[: depth + 1])
            near = closest(name, schema.names) or _elsewhere(name, members[0].key, schema)
            yield UnknownSetting(path, members[0], near, schema.title, schema.where, took_steps=took_steps)


def _inside(
    name: str, members: list[Setting], depth: int, schema: Schema, run: Run, took_steps: bool
) -> Iterator[UnknownSetting]:
    if name in schema.below:
        yield from _unknown(members, depth + 1, schema.below[name], run, took_steps)
    elif name in schema.each:
        elements: dict[str | int, list[Setting]] = {}
        for setting in members:
            if len(setting.key) > depth + 2:
                elements.setdefault(setting.key[depth + 1], []).append(setting)
        for inside in elements.values():
            yield from _unknown(inside, depth + 2, schema.each[name], run, took_steps)


def _is_read(name: str, run: Run) -> bool:
    """Whether the program takes anything of this name out of anything, or looks it up."""
    assert run.program is not None
    uses = setting_uses(run.program)
    if uses is None:
        return True
    return bool(uses.code.texts.get(name) or uses.code.attributes.get(name))


def _by_table(settings: list[Setting], framework: ModuleType, start: str | None) -> Iterator[UnknownSetting]:
    seen: set[str] = set()
    for setting in settings:
        for depth in range(len(setting.key)):
            section, name = _section(setting.key[:depth], framework), str(setting.key[depth])
            path = ".".join(str(part) for part in setting.key[: depth + 1])
            if section is None or path in seen:
                continue
            seen.add(path)
            since = framework.SINCE.get(path)
            if name in section and (since is None or start is None or start >= since[0]):
                if since is not None and start is None:
                    yield _later(setting, path, framework, section - {name}, version_known=False)
                continue
            if since is not None:
                yield _later(setting, path, framework, section - {name}, version_known=True)
            elif path not in framework.FORKS and not (depth == 0 and name.endswith(framework.FORK_ENDINGS)):
                yield UnknownSetting(
                    path, setting, closest(name, section), framework.FRAMEWORK, strict=framework.STRICT
                )


def _later(
    setting: Setting, path: str, framework: ModuleType, section: frozenset[str], version_known: bool
) -> UnknownSetting:
    day, change = framework.SINCE[path]
    since = f"{framework.FRAMEWORK} has it since {day} ({change})"
    near = closest(path.rpartition(".")[2], section)
    return UnknownSetting(
        path, setting, near, framework.FRAMEWORK, None, since, version_known, strict=framework.STRICT
    )


def _section(above: Key, framework: ModuleType) -> frozenset[str] | None:
    """The names known in a section; None where it is free-form."""
    path = ".".join(str(part) for part in above)
    wild = ".".join([*(str(part) for part in above[:-1]), "*"]) if above else ""
    found: frozenset[str] | None = framework.SECTIONS.get(
        path, framework.SECTIONS.get(wild) if above else None
    )
    return found


def _start(run: Run) -> str | None:
    started = [log.started for log in run.logs if log.started is not None]
    return datetime.fromtimestamp(min(started), UTC).date().isoformat() if started else None


def closest(name: str, known: Iterable[str]) -> str:
    """The known name most like a name: in spelling, or in the words it begins with; empty for none."""
    words = re.split(r"[_\W]+", name.lower())
    best, score = "", 0.0
    for other in sorted(known):
        alike = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
        shared = [word for word in re.split(r"[_\W]+", other.lower()) if word in words and len(word) > 1]
        alike += 0.1 * min(len(shared), 2)
        if alike > score:
            best, score = other, alike
    return best if score >= ALIKE else ""


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
