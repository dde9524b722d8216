"""What a program does with its settings: acts on them, or only prints, logs and saves them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from stethoscope.program.index import Class, Function
from stethoscope.program.settings.declared_options import ABSL, HOLDS_OPTIONS, field_names
from stethoscope.program.settings.mentions import Mentions, Spot, called, spoken_of, taken_by_name
from stethoscope.program.settings.option import Option
from stethoscope.program.settings.parameter_options import saved_parameters
from stethoscope.program.settings.program_settings import (
    LOADERS,
    PARSERS,
    ProgramSettings,
    is_holder,
    program_settings,
)
from stethoscope.program.settings.section_taken_from import section_taken_from
from stethoscope.program.settings.settings_objects import (
    PARSING,
    absl_flags,
    flag_holders,
    is_made_by_hand,
    objects_of,
    parsed_flags,
    reading_base,
)
from stethoscope.program.settings.value_flow import Flow, Whole, acts, parameter_acts, whole
from stethoscope.run import Program, Where

_LOADS_WEIGHTS = re.compile(r"^(?:torch|np|numpy|jnp|joblib|pickle|xm|fabric|self\.fabric)\.load$")
_DECLARES = re.compile(r"^(?:add_argument|DEFINE_\w+|add_option|set_defaults)$")

_READ_BY = {"json": {"json"}, "tomllib": {"toml"}, "toml": {"toml"}, "yaml": {"yaml", "yml", "json"}}


class Use(StrEnum):
    """What becomes of a setting."""

    USED = "used"
    UNUSED = "unused"
    ESCAPED = "escaped"  # it may be used where we cannot look


@dataclass(frozen=True, slots=True)
class Usage:
    """What becomes of one setting: where it acts or escapes, or the places that only mention it."""

    use: Use
    where: Where | None = None
    mentions: tuple[Where, ...] = ()


@dataclass(eq=False)
class SettingUses:
    """What a program does with settings, by name. `written` are the names in the run's settings files."""

    program: ProgramSettings
    written: frozenset[str]
    flow: Flow

    @property
    def code(self) -> Mentions:
        """Every mention of a name in the program."""
        return self.flow.code

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that the program declares."""
        return self.program.options

    @property
    def records(self) -> tuple[Class, ...]:
        """Its option classes."""
        return self.program.records

    @property
    def fields(self) -> frozenset[str]:
        """The fields of its option classes."""
        return self.program.fields

    @property
    def reads_files(self) -> bool:
        """Whether it loads settings files itself."""
        return self.program.reads_files

    @cached_property
    def escape(self) -> Where | None:
        """Where any settings object as a whole goes somewhere that cannot be followed."""
        made = (self._made_escape(cls.name) for cls in self.records if HOLDS_OPTIONS.search(cls.name))
        parsed = map(self._made_escape, PARSERS)
        return _first((*parsed, *made)) or _first(held.escape for held in self._held)

    @cached_property
    def loaded_escape(self) -> Where | None:
        """The same of what was loaded from a file: it matters for settings that are no `fields`."""
        return self._escape_of(LOADERS, self._loads)

    @property
    def _loads(self) -> Iterator[Spot]:
        """The calls that load a file."""
        spots = (spot for name in LOADERS for spot in self.code.calls.get(name, ()))
        return (spot for spot in spots if not _is_ours(spot, self.code) and not _is_of_weights(spot))

    def of(
        self,
        name: str,
        sections: Sequence[str] = (),
        beside: frozenset[str] | None = None,
        rivals: frozenset[str] = frozenset(),
        others: Sequence[Spot] = (),
    ) -> Usage:
        """What becomes of the setting of this name, below these sections.

        `beside` are the names of all settings in those sections: an object that none of them is taken from
        does not hold this one. None where they are not known. `rivals` are other sections with a setting of
        this name: what is plainly taken out of them is not this one. `others` take something else.
        """
        spread = self._spread(name, sections)
        if spread is not None:
            return Usage(Use.USED, spread)
        taken = self._told(name)[0]
        if rivals:
            taken = [spot for spot in taken if section_taken_from(spot, self.code) not in rivals]
        if others:
            taken = [spot for spot in taken if not _is_among(spot, others)]
        return self._judged(name, taken, lambda: self._escape(name, sections, beside))

    def is_left_lying(self, path: Sequence[str], file: str) -> bool:
        """Whether the way of a loaded file is seen whole, the sections are taken, and this one is not.

        What else has its name, in a log or an optimizer, does not matter then.
        """
        if self._may_be_filled(path[-1]) or self._parses_otherwise:
            return False
        kind = file.rpartition(".")[2].lower()
        held = self._exactly((kind,), (spot for spot in self._loads if _may_load(spot, kind)))
        for depth, name in enumerate(path, 1):
            if held.escape is not None or held.is_loose or held.spreads or self._exact.is_spent:
                return False
            if depth == 1 and self.written and self.written.isdisjoint(held.takes):
                return False  # what is loaded is data: annotations, lists, tables
            if depth == len(path):
                return bool(held.takes) and name not in held.takes
            if name not in held.takes:
                return False
            held = self._exactly((kind, *path[:depth]), held.takes[name])
        return False

    @cached_property
    def _parses_otherwise(self) -> bool:
        """Whether a library makes settings of files, and not of flags: `Config.fromfile`, but no array's."""
        spots = (spot for name in PARSERS if name not in PARSING for spot in self.code.calls.get(name, ()))
        return any(not _is_of_arrays(spot) for spot in spots)

    def _may_be_filled(self, name: str) -> bool:
        """Whether an option class with a field of this name may be filled otherwise than field by field."""
        return any(name in field_names(cls) and not is_made_by_hand(cls, self.code) for cls in self.records)

    def _exactly(self, path: Sequence[str], spots: Iterable[Spot]) -> Whole:
        """Where a section of the loaded settings goes, with all that is taken out of it."""
        key = ("exactly", *path)
        if key not in self.program.parts:
            self.program.parts[key] = whole(spots, self._exact)
        return self.program.parts[key]

    @cached_property
    def _exact(self) -> Flow:
        return Flow(self.code, self.flow.flags, exact=True)

    def of_option(self, option: Option) -> Usage:
        """What becomes of an option that the program declares, in the object that holds it."""
        if option.kind == "parameter":
            return self._of_parameter(option)
        if option.kind == "constant":
            return self.of_constant(option.name)
        if option.kind == "entry":
            return self._of_entry(option)
        taken, told = self._told(option.name)
        used = self._first_act(told) or _first(
            acts(spot, self.flow, "value") for spot in flag_holders(option.name, self.code)
        )
        if used is not None:
            return Usage(Use.USED, used)
        held = None if option.sections else self._whole(option.origin)
        if held is None:
            return self.of(option.name, option.sections)
        if not held.is_loose and held.escape is None:
            taken = [*told, *(s for s in held.takes.get(option.name, ()) if not _is_among(s, told))]
        spread = self._spread_of(option.name, held.spreads)
        if spread is not None:
            return Usage(Use.USED, spread)
        siblings = self.program.siblings[option.origin]
        return self._judged(
            option.name,
            taken,
            lambda: (
                held.escape
                or self._spot_of_path(option.name)
                or _first(other.escape for other in self._held if other.names & siblings)
            ),
        )

    def _of_entry(self, option: Option) -> Usage:
        """What becomes of an entry of a literal dict, which may go on whole: `initialize(config=...)`."""
        usage = self.of(option.name, option.sections)
        table = self.program.tables.get(option.where)
        if usage.use is not Use.UNUSED or table is None:
            return usage
        held = self._whole_of(("table", id(table.node)), (table,))
        spread = None if option.sections else self._spread_of(option.name, held.spreads)
        if spread is not None:
            return Usage(Use.USED, spread)
        return usage if held.escape is None else Usage(Use.ESCAPED, held.escape)

    def is_section_of(self, section: str, option: Option) -> bool:
        """Whether a section of a file is filled into the record that declares an option."""
        cls = self.program.by_name.get(option.origin)
        return cls is not None and cls.name in self.program.sections.get(section, ())

    def takes(self, name: str) -> bool:
        """Whether the program takes something of this name out of its settings."""
        if name in self.fields or name in self._whole_of(LOADERS, self._loads).takes:
            return True
        return any(_is_by_text(s) or self.is_from_settings(s) for s in taken_by_name(name, self.code))

    def of_constant(self, name: str) -> Usage:
        """What becomes of a module's constant, which is read by its bare name."""
        read = self.code.names(name)
        place = self._first_act(read)
        if place is not None:
            return Usage(Use.USED, place)
        # No object that is parsed or loaded holds it; a module that is handed on as a whole does.
        usage = self._judged(name, list(self._taken(name)), lambda: self._spot_of_path(name))
        if usage.use is not Use.UNUSED:
            return usage
        return Usage(Use.UNUSED, mentions=(*(spot.where for spot in read), *usage.mentions))

    def _judged(self, name: str, taken: Sequence[Spot], escape: Callable[[], Where | None]) -> Usage:
        place = self._first_act(taken)
        if place is not None:
            return Usage(Use.USED, place)
        lost = _first(s.where for s in _looked_up(name, self.code) if acts(s, self.flow)) or escape()
        if lost is not None:
            return Usage(Use.ESCAPED, lost)
        return Usage(Use.UNUSED, mentions=tuple(spot.where for spot in taken))

    def _of_parameter(self, option: Option) -> Usage:
        function = self.program.functions[option.origin]
        place = parameter_acts(function, option.name, self.flow)
        if place is not None:
            return Usage(Use.USED, place)
        for spot in self.code.attributes.get("params", ()):  # click's context holds all of them
            if self.code.is_within(spot.node, function.node):
                return Usage(Use.ESCAPED, spot.where)
        if self._is_saved(function):
            if self._is_recorded_copy(function, option.name):
                return Usage(Use.USED, function.source.where(function.node))
            kept = self._judged(option.name, self._told(option.name)[0], lambda: self._kept_escape)
            if kept.use is not Use.UNUSED:
                return kept
        reads = self.code.names_in(function.source, option.name)
        told = (spot.where for spot in reads if self.code.is_within(spot.node, function.node))
        return Usage(Use.UNUSED, mentions=tuple(told))

    def _is_saved(self, function: Function) -> bool:
        return any(saved is function for saved in saved_parameters(self.code))

    def _is_recorded_copy(self, function: Function, name: str) -> bool:
        """Whether a module is only told, for the record, what its caller uses for something else as well."""
        made = self.code.calls.get(function.owner.name, ()) if function.owner is not None else ()
        for spot in made:
            call = spot.node
            assert isinstance(call, ast.Call)
            placed = dict(zip(function.parameters[1:], call.args, strict=False))
            given = next((word.value for word in call.keywords if word.arg == name), placed.get(name))
            if not isinstance(given, ast.Name):
                continue
            scope = self.code.scope_of(call)
            reads = self.code.names_in(spot.source, given.id)
            inside = (read for read in reads if self.code.scope_of(read.node) is scope)
            if any(not self.code.is_within(read.node, call) for read in inside):
                return True
        return False

    @property
    def _kept_escape(self) -> Where | None:
        """Where the parameters that Lightning keeps as `self.hparams` get lost as a whole."""
        kept = (
            spot for name in ("hparams", "hparams_initial") for spot in self.code.attributes.get(name, ())
        )
        return self._escape_of("hparams", kept)

    def _first_act(self, spots: Iterable[Spot]) -> Where | None:
        return _first(acts(spot, self.flow) for spot in spots)

    def _whole(self, origin: str) -> Whole | None:
        """Where the object goes that holds the options of one origin; None where it is not seen made."""
        known = self.program.wholes
        if origin not in known:
            followed = self._followed(origin)
            if self.flow.is_spent:
                return followed
            known[origin] = followed
        return known[origin]

    def _followed(self, origin: str) -> Whole | None:
        cls = self.program.by_name.get(origin)
        if cls is not None:
            if reading_base(cls, self.code):
                return Whole(cls.source.where(cls.node))
            spots = list(objects_of(cls, self.code))
        else:
            spots = list(absl_flags(self.code) if origin == ABSL else parsed_flags(origin, self.code))
        return whole(spots, self.flow) if spots else None

    def _escape(self, name: str, sections: Sequence[str], beside: frozenset[str] | None) -> Where | None:
        """Where a setting may get lost with the whole that it is part of."""
        lost = self._spot_of_path(name) or self._below(sections).escape
        if lost is None:
            lost = self.escape if beside is None else self._escape_beside(name, beside)
        return lost or (self.loaded_escape if name not in self.fields else None)

    def _escape_beside(self, name: str, beside: frozenset[str]) -> Where | None:
        """Where an object gets lost that can hold this setting: one of its class, or of its neighbours."""
        classes = self.program.holding.get(name, ())
        parsers = [parser for parser in PARSERS if parser not in PARSING or name in self.flow.flags]
        made = _first(self._made_escape(maker) for maker in (*parsers, *classes))
        return made or _first(held.escape for held in self._held if held.names & beside)

    def _made_escape(self, maker: str) -> Where | None:
        """Where what one kind of call makes gets lost."""
        return self._escape_of(maker, self.code.calls.get(maker, ()))

    def _escape_of(self, key: object, spots: Iterable[Spot]) -> Where | None:
        """Where the whole that is made or held at some places gets lost; `key` names them together."""
        return self._whole_of(key, spots).escape

    def _whole_of(self, key: object, spots: Iterable[Spot]) -> Whole:
        known = self.program.parts
        if key not in known:
            followed = whole(spots, self.flow)
            if self.flow.is_spent:
                return followed
            known[key] = followed
        return known[key]

    def _below(self, sections: Sequence[str]) -> Whole:
        """Where the sections around a setting go as a whole."""
        parts = (spot for section in sections for spot in self._told(section)[0])
        return self._whole_of(("below", *sections), parts)

    def _spread(self, name: str, sections: Sequence[str]) -> Where | None:
        """Where a setting acts as a parameter that `build(**section)` or `build(**loaded)` fills with it."""
        loaded = self._whole_of(LOADERS, self._loads)
        return self._spread_of(name, (*self._below(sections).spreads, *loaded.spreads))

    def _spread_of(self, name: str, functions: Iterable[Function]) -> Where | None:
        return _first(parameter_acts(f, name, self.flow) for f in functions if name in f.parameters)

    def _spot_of_path(self, name: str) -> Where | None:
        spot = self.code.paths.get(name)
        return spot.where if spot is not None else None

    @cached_property
    def _held(self) -> tuple[_Held, ...]:
        """Every variable that is called like a settings object and from which known settings are taken.

        Those that callers in the repository fill are left out: they are followed from there.
        """
        names = self.written | self.fields | {option.name for option in self.options}
        found = []
        for holder in self.program.holders:
            taken = holder.taken & names
            if taken:
                found.append(_Held(taken, self._escape_of(holder, holder.spots)))
        return tuple(found)

    def _told(self, name: str) -> tuple[Sequence[Spot], Sequence[Spot]]:
        """Every expression that takes a setting of this name, and those that take it out of settings."""
        known = self.program.told
        if name not in known:
            taken = tuple(self._taken(name))
            known[name] = taken, tuple(spot for spot in taken if self.is_from_settings(spot))
        return known[name]

    def _taken(self, name: str) -> Iterator[Spot]:
        """Every expression that takes a setting of this name, but no method of the name: `net.train()`."""
        for spot in taken_by_name(name, self.code):
            if not self.code.is_called(spot.node) or self.is_from_settings(spot) or _is_by_text(spot):
                yield spot

    def is_from_settings(self, taken: Spot) -> bool:
        """Whether something is taken out of an object that is called, or was made as, a settings object."""
        node: ast.AST = taken.node
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            if isinstance(node, ast.Call):
                node = node.func if isinstance(node.func, ast.Attribute) else next(iter(node.args), node.func)
                continue
            node = node.value
            name = str(getattr(node, "id", getattr(node, "attr", "")))
            if is_holder(name) or name in self._loaded:
                return True
        return False

    @property
    def _loaded(self) -> frozenset[str]:
        return self.program.loaded


def _is_of_arrays(spot: Spot) -> bool:
    assert isinstance(spot.node, ast.Call)
    return called(spot.node).partition(".")[0] in {"np", "numpy", "torch", "array"}


def _may_load(load: Spot, kind: str) -> bool:
    """Whether a call may load a file of this kind; one that is not known may load any."""
    assert isinstance(load.node, ast.Call)
    loader = called(load.node).partition(".")[0]
    reads = _READ_BY.get(loader)
    return reads is None or kind in reads


@dataclass(frozen=True, slots=True)
class _Held:
    """A variable that holds settings: the known names that are taken out of it, and where it gets lost."""

    names: frozenset[str]
    escape: Where | None


@lru_cache(maxsize=4)
def setting_uses(program: Program, written: frozenset[str] = frozenset()) -> SettingUses | None:
    """Follow a program's settings; None where it is too large to be followed.

    `written` are the names in the run's settings files: what they are taken out of is the settings object.
    """
    known = program_settings(program)
    # Each run has its own budget, and what was found once is found for all.
    return SettingUses(known, written, Flow(known.code, known.flags, known.known)) if known else None


def amount_uses(program: Program, written: frozenset[str] = frozenset()) -> SettingUses | None:
    """The same where only a use of how large a value is counts, and no question of yes or no."""
    known = program_settings(program)
    if known is None:
        return None
    apart = replace(known, wholes={}, parts={}, told={}, known={})
    return SettingUses(apart, written, Flow(apart.code, apart.flags, amounts=True))


def _first(places: Iterable[Where | None]) -> Where | None:
    return next((place for place in places if place is not None), None)


def _is_among(spot: Spot, others: Sequence[Spot]) -> bool:
    return any(other.node is spot.node for other in others)


def _is_ours(call: Spot, code: Mentions) -> bool:
    """Whether a call is one of a function of the repository; what that loads is followed from inside it."""
    func = call.node.func if isinstance(call.node, ast.Call) else None
    if not isinstance(func, ast.Name):
        return False
    return isinstance(code.index.resolve(code.index.module_of(call.source), func.id), Function)


def _is_of_weights(call: Spot) -> bool:
    """Whether a call loads tensors or arrays: a checkpoint or data, and no file of settings."""
    return isinstance(call.node, ast.Call) and bool(_LOADS_WEIGHTS.match(called(call.node)))


def _is_by_text(taken: Spot) -> bool:
    return not isinstance(taken.node, ast.Attribute)


def _looked_up(name: str, code: Mentions) -> Iterable[Spot]:
    """Texts of this name that something may be looked up by; the declaration itself is none of them."""
    for spot in spoken_of(name, code):
        parent = code.parents.get(id(spot.node))
        if isinstance(parent, ast.Call):
            by = called(parent).rpartition(".")[2]
            if _DECLARES.match(by) or by in {"option", "argument", "hasattr"}:
                continue
        yield spot
