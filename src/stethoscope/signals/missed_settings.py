"""Settings that the source asks for under another name, or in another section, and so takes a default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from stethoscope.program.evaluation.evaluations import EVALUATION_WORDS
from stethoscope.program.index import index
from stethoscope.program.likenesses import words
from stethoscope.program.settings.environment_reads import EnvironmentReads, environment_reads
from stethoscope.program.settings.mentions import Spot, taken_by_name
from stethoscope.program.settings.program_settings import taken_here
from stethoscope.program.settings.section_taken_from import section_taken_from
from stethoscope.program.settings.setting_uses import SettingUses, Use, setting_uses
from stethoscope.program.settings.whole_reads import whole_reads
from stethoscope.recipe.exported_variables import exported_variables
from stethoscope.recipe.quantities import asked_for
from stethoscope.recipe.schemas import nearest
from stethoscope.run import Program, Recipe, Run, Setting, Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.unused_settings import Wanted, usage_of, wanted_settings, written_names

# What a training has one of, whichever section names it.
LOOP_WORDS = frozenset(
    {"accumulate", "accumulation", "accum", "clip", "clipping", "warmup", "epochs", "iterations", "iters"}
    | {"patience"}
)


@dataclass(frozen=True, slots=True)
class MissedSetting:
    """A setting of a file that nothing reads, and the read that was meant to: what it asks for and gets.

    `read_too` says that something else reads the setting, and training itself goes by the default.
    """

    name: str
    where: Where
    value: object
    asked: str
    read: Where
    default: str
    read_too: bool = False


@dataclass(frozen=True, slots=True)
class MissedSettings:
    """All of them."""

    settings: tuple[MissedSetting, ...]


def measure(run: Run) -> MissedSettings | Missing:
    """Hold the reads that have a default against the settings that nothing reads."""
    if run.program is None or run.recipe is None:
        return Missing("the source or its settings file was not found")
    shells = [file for file in run.recipe.files if file.syntax == "shell"]
    taken = environment_reads(index(run.program)) if shells else EnvironmentReads()
    exported = tuple(_of_environment(run.program, run.recipe, taken)) if taken.is_whole else ()
    uses = setting_uses(run.program, written_names(run)) if run.recipe.settings else None
    if uses is None or not uses.reads_files:
        unread = Missing("the program reads no settings file that can be followed")
        return MissedSettings(exported) if taken.is_whole and taken.defaults else unread
    wanted = wanted_settings(run, uses)
    every, top = tuple(_reads(uses)), _top(run)
    reads = [
        one for one in every if uses.is_from_settings(one.spot) or _variable_with_sections(one, uses, top)
    ]
    reads += [
        replace(one, section=section)
        for one in every
        if one not in reads and (section := _section_of_name(_asked(one), one.spot, uses, top.sections))
    ]
    found = (*_misspelt(reads, wanted, uses), *_elsewhere(reads, wanted, uses))
    found = (*found, *_lengths_elsewhere(every, run.recipe, uses))
    found = (*found, *_at_the_top(every, wanted, uses, top), *_of_no_flag(run.recipe, uses))
    told = {one.read for one in found}
    other = (one for one in _on_another_level(wanted, run.recipe, uses) if one.read not in told)
    return MissedSettings((*found, *other, *exported))


def _of_environment(program: Program, recipe: Recipe, reads: EnvironmentReads) -> Iterator[MissedSetting]:
    """Variables that a launcher exports under a name that nothing mentions, where another is asked for."""
    shells = [file for file in recipe.files if file.syntax == "shell"]
    texts = [source.text for source in program] + [file.text for file in recipe.files if file not in shells]
    for file in shells:
        given = {str(one.leaf): one for one in exported_variables(file.text, file.file)}
        free = {name for name in reads.defaults if name not in given}
        for name, setting in given.items():
            word = re.compile(rf"[\"'$:{{][^\"'\n]*\b{re.escape(name)}\b")
            is_used = re.search(rf"\$\{{?{re.escape(name)}\b", file.text) is not None
            if is_used or any(word.search(text) for text in texts):
                continue
            meant = nearest(name.lower(), {one.lower() for one in free}).name.upper()
            meant = meant if meant in free else _of_one_quantity(setting, free)
            if meant:
                spot, default = reads.defaults[meant]
                yield MissedSetting(name, setting.where, setting.value, meant, spot.where, default)


def _of_one_quantity(setting: Setting, names: Iterable[str]) -> str:
    """The only name that asks for what a setting asks for: LEARNING_RATE for LR."""
    asked = _quantities(setting.leaf, setting)
    alike = [name for name in sorted(names) if asked and asked == _quantities(name, setting)]
    return alike[0] if len(alike) == 1 else ""


def _quantities(name: str, setting: Setting) -> set[str]:
    recipe = Recipe((replace(setting, key=(name.lower(),)),))
    return {quantity for quantity, found in asked_for(recipe).items() if found}


@dataclass(frozen=True, slots=True)
class _Read:
    """`section.get("name", default)`."""

    name: str
    section: str | None
    default: str
    spot: Spot


def _reads(uses: SettingUses) -> Iterator[_Read]:
    for name in list(uses.code.texts):
        for spot in taken_by_name(name, uses.code):
            default = _default(spot.node)
            if default is not None:
                yield _Read(name, section_taken_from(spot, uses.code), ast.unparse(default), spot)


def _default(node: ast.expr) -> ast.expr | None:
    """What is taken where the settings have no such name; sections and None are no values."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[_, default]):
            given = default
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default]):
            given = default
        case _:
            return None
    is_value = not (isinstance(given, ast.Constant) and given.value is None)
    return (
        given if is_value and isinstance(given, ast.Constant | ast.UnaryOp | ast.List | ast.Tuple) else None
    )


def _misspelt(
    reads: Sequence[_Read], wanted: dict[str, list[Wanted]], uses: SettingUses
) -> Iterator[MissedSetting]:
    """Reads of a name that no file has, where one has a name that can be nothing but a slip of it."""
    for read in reads:
        if read.name in uses.written:
            continue
        beside = {name for name, places in wanted.items() if _in_file(places, read.section)}
        meant = nearest(read.name, beside)
        if not meant.clear:
            continue
        places = wanted[meant.name]
        if not uses.takes(meant.name) and all(_is_unread(place, places, uses) for place in places):
            yield _missed(places[0], read)


def _in_file(places: Sequence[Wanted], section: str | None) -> bool:
    """Whether a name stands in files alone, and in the section that is asked."""
    return all(place.option is None and (section is None or section in place.sections) for place in places)


def _is_unread(place: Wanted, places: list[Wanted], uses: SettingUses) -> bool:
    usage = usage_of(place, places, uses)
    return usage.use is Use.UNUSED and not usage.mentions


def _elsewhere(
    reads: Sequence[_Read], wanted: dict[str, list[Wanted]], uses: SettingUses
) -> Iterator[MissedSetting]:
    """Reads of a section that has no such name, where another section has it and nothing takes it there."""
    for read in reads:
        places = wanted.get(read.name, ())
        sections = {place.sections[-1:] for place in places}
        if not places or read.section is None or not _in_file(places, None) or (read.section,) in sections:
            continue
        asked = frozenset({read.section})
        usages = [uses.of(place.name, place.sections, place.beside, asked) for place in places]
        if all(usage.use is Use.UNUSED and not usage.mentions for usage in usages):
            yield _missed(places[0], read)


def _lengths_elsewhere(reads: Sequence[_Read], recipe: Recipe, uses: SettingUses) -> Iterator[MissedSetting]:
    """Rounds of a loop that a section is asked for in vain, where another place has their setting."""
    sections = frozenset(str(part) for setting in recipe for part in setting.key[:-1])
    for read in reads:
        places = [setting for setting in recipe if setting.leaf == read.name]
        asked = _asked(read)
        section = read.section or _section_of_name(asked, read.spot, uses, sections)
        if len(places) != 1 or section not in sections or not _counts_rounds(read.spot, uses):
            continue
        own = places[0].key[:-1]
        if section in map(str, own) or any(one.key[-1] == read.name for one in recipe.defaults):
            continue
        yield MissedSetting(
            places[0].dotted,
            places[0].where,
            places[0].value,
            f"{section}.{read.name}",
            read.spot.where,
            read.default,
            read_too=True,
        )


def _on_another_level(
    wanted: dict[str, list[Wanted]], recipe: Recipe, uses: SettingUses
) -> Iterator[MissedSetting]:
    """Reads from the top of the file of what the file has in a section, and nowhere else.

    A setting that something else reads is told of only where it is of the training loop as a whole.
    """
    tops = {str(setting.key[0]) for setting in recipe if len(setting.key) > 1}
    for read in whole_reads(uses.code):
        size = len(read.key)
        if any(setting.key[:size] == read.key for setting in recipe) or not read.beside & tops:
            continue
        found = [one for one in recipe if one.key[-size:] == read.key and one.known]
        if len({one.key for one in found}) != 1 or found[0].value == read.default:
            continue
        own, places = found[0], wanted.get(read.key[-1], [])
        usages = [uses.of(one.name, one.sections, one.beside, others=[read.spot]) for one in places]
        unread = bool(usages) and all(usage.use is Use.UNUSED for usage in usages)
        section = {word for part in own.key[:-1] for word in words(str(part))}
        is_of_loop = bool(LOOP_WORDS & set(words(own.leaf))) and not section & EVALUATION_WORDS
        if unread or is_of_loop:
            yield MissedSetting(
                own.dotted,
                own.where,
                own.value,
                ".".join(read.key),
                read.where,
                repr(read.default),
                not unread,
            )


def _section_of_name(
    asked: ast.expr | None, spot: Spot, uses: SettingUses, sections: frozenset[str]
) -> str | None:
    """The section that a variable was given in the same function: `o = cfg.optim`, `o = cfg["optim"]`."""
    if not isinstance(asked, ast.Name):
        return None
    given = [one for one in uses.code.given.get(asked.id, ()) if one.source is spot.source]
    if len(given) != 1 or asked.id in uses.code.changed:
        return None
    match given[0].node:
        case ast.Attribute(value=ast.Name(), attr=name):
            return name if name in sections else None
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as name)):
            return name if name in sections else None
    return None


def _counts_rounds(spot: Spot, uses: SettingUses) -> bool:
    """Whether a number says how often a loop goes round: `for epoch in range(cfg.get("epochs", 40))`."""
    call = uses.code.parents.get(id(spot.node))
    loop = uses.code.parents.get(id(call))
    is_range = isinstance(call, ast.Call) and getattr(call.func, "id", "") in {"range", "trange"}
    return is_range and isinstance(loop, ast.For) and loop.iter is call


@dataclass(frozen=True, slots=True)
class _Top:
    """What stands at the top of the run's files: all names, and the sections that are found nowhere else."""

    names: frozenset[str]
    sections: frozenset[str]


def _top(run: Run) -> _Top:
    keys = [setting.key for setting in run.recipe or ()]
    deeper = {part for key in keys for part in key[1:]}
    sections = {str(key[0]) for key in keys if len(key) > 1} - deeper
    return _Top(frozenset(str(key[0]) for key in keys if key), frozenset(map(str, sections)))


def _at_the_top(
    reads: Iterable[_Read], wanted: dict[str, list[Wanted]], uses: SettingUses, top: _Top
) -> Iterator[MissedSetting]:
    """Reads out of the settings as a whole of what only a section has, where nothing takes it there."""
    lost: dict[str, list[_Read]] = {}
    for read in reads:
        if read.name in wanted and read.name not in top.names and _is_of_the_whole(read, uses, top):
            lost.setdefault(read.name, []).append(read)
    for name, those in lost.items():
        places = wanted[name]
        if not _in_file(places, None) or not all(place.sections for place in places):
            continue
        spots = [read.spot for read in those]
        usages = [uses.of(name, place.sections, place.beside, others=spots) for place in places]
        if all(usage.use is Use.UNUSED for usage in usages):
            yield _missed(places[0], those[0])


def _is_of_the_whole(read: _Read, uses: SettingUses, top: _Top) -> bool:
    """Whether a default stands in for what is asked of the whole file itself."""
    return isinstance(_asked(read), ast.Name) and _variable_with_sections(read, uses, top)


def _variable_with_sections(read: _Read, uses: SettingUses, top: _Top) -> bool:
    """Whether the variable that is read is the whole file: sections of its top are taken out of it beside."""
    base = _asked(read)
    own = read.section if isinstance(base, ast.Attribute | ast.Subscript) else None
    if isinstance(base, ast.Attribute | ast.Subscript):
        base = base.value if own in top.sections else None
    if not isinstance(base, ast.Name):
        return False
    scope = uses.code.scope_of(read.spot.node)
    beside = uses.code.names_in(read.spot.source, base.id)
    taken = (taken_here(spot, uses.code) for spot in beside if uses.code.scope_of(spot.node) is scope)
    return any(one in top.sections and one != own for one in taken)


def _asked(read: _Read) -> ast.expr | None:
    """What a name is asked of, with a default."""
    match read.spot.node:
        case ast.Call(func=ast.Attribute(value=base)) | ast.Call(func=ast.Name(), args=[base, *_]):
            return base
    return None


def _of_no_flag(recipe: Recipe, uses: SettingUses) -> Iterator[MissedSetting]:
    """What a file gives as the default of a flag, `parser.set_defaults(**loaded)`, and no flag is called."""
    spread = next((spot for spot in uses.code.calls.get("set_defaults", ()) if _is_spread(spot)), None)
    flags = {option.name.replace("-", "_"): option for option in uses.options if option.kind == "flag"}
    if spread is None or not flags:
        return
    for file in recipe.files:
        own = [one for one in recipe if one.where.file == file.file and file.syntax != "shell"]
        known = {one.key[0] for one in own} & set(flags)
        for one in own:
            name = str(one.key[0])
            if len(known) * 2 < len(own) or len(one.key) > 1 or name in flags or uses.code.texts.get(name):
                continue
            if uses.code.attributes.get(name):
                continue
            spelt = name.replace("-", "_").lower()
            meant = spelt if spelt in flags else nearest(name, set(flags) - known).name
            if meant in flags and meant not in known and (spelt in flags or nearest(name, set(flags)).clear):
                default = repr(flags[meant].default)
                yield MissedSetting(name, one.where, one.value, meant, spread.where, default)


def _is_spread(spot: Spot) -> bool:
    words = spot.node.keywords if isinstance(spot.node, ast.Call) else []
    return any(word.arg is None for word in words)


def _missed(place: Wanted, read: _Read) -> MissedSetting:
    asked = f"{read.section}.{read.name}" if read.section is not None else read.name
    name = ".".join((*place.sections, place.name))
    return MissedSetting(name, place.where, place.value, asked, read.spot.where, read.default)
