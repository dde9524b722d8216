"""The settings of a program that is started without a word on its command line.

A walk does not know what `parser.parse_args().lr` is: any value may be given. To compute with numbers, the
defaults of the flags are as good as any, and the program is meant to be right with them.
"""

from __future__ import annotations

from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.settings_tree import SettingsTree, with_further


@remembered
def bare_command_line(index: Index, settings: SettingsTree) -> SettingsTree | None:
    """The settings with the defaults of all flags that they lack; None where no flag has one."""
    given: dict[str, dict[str, object]] = {}
    for option in declared_options(index):
        if option.kind == "flag" and option.default is not None:
            given.setdefault(option.name, {})[repr(option.default)] = option.default
    single = {name: next(iter(values.values())) for name, values in given.items() if len(values) == 1}
    return with_further(settings, single) if single else None
