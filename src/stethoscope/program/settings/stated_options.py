"""What an option stands at where a walk could not follow it: as the settings set it, else its default.

A walk follows values, and `parser.parse_args().precision` or `Config(**vars(args)).precision` has none. By
its name the option is found all the same: in the settings that the program runs under, or where it is
declared. This is for questions about one word, such as a type of numbers, never for following a program.
"""

from __future__ import annotations

from dataclasses import replace

from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.values import Applied, Choice, Constant, Part, Value, choice

DEEPEST = 4  # values looked through from a call to the options among its arguments


def stated_option(index: Index, settings: SettingsTree, name: str) -> Constant | None:
    """The one value that an option of this name has; None where it has several, or none is known."""
    given = {repr(value): value for value in settings.values_named(name) if _is_plain(value)}
    if not given:
        given = _defaults(index).get(name, {})
    return Constant(next(iter(given.values())), name) if len(given) == 1 else None


def is_option(index: Index, name: str) -> bool:
    """Whether the program declares an option of this name, whatever it stands at."""
    return name in _defaults(index)


def stated(index: Index, settings: SettingsTree, value: Value | None, depth: int = DEEPEST) -> Value | None:
    """A value with the options in it replaced by what they stand at."""
    match value:
        case Part(key=str() as name):
            return stated_option(index, settings, name) or value
        case Choice(options=options):
            return choice(*(stated(index, settings, option, depth) or option for option in options))
        case Applied(args=args, keywords=keywords) if depth and (args or keywords):
            return replace(
                value,
                args=tuple(stated(index, settings, one, depth - 1) or one for one in args),
                keywords={
                    name: stated(index, settings, one, depth - 1) or one for name, one in keywords.items()
                },
            )
    return value


@remembered
def _defaults(index: Index) -> dict[str, dict[str, object]]:
    """The defaults of every declared option by its name."""
    found: dict[str, dict[str, object]] = {}
    for option in declared_options(index):
        known = found.setdefault(option.name, {})
        if option.default is not None and _is_plain(option.default):
            known[repr(option.default)] = option.default
    return found


def _is_plain(value: object) -> bool:
    # A switch that is off as it stands is there to be switched on.
    return isinstance(value, str | int | float) and not isinstance(value, bool)
