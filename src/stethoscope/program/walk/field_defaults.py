"""What a field of a dataclass holds where nothing was given: its `default`, or made by its factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stethoscope.program.walk import calls
from stethoscope.program.walk.values import Applied, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

MAKERS = frozenset({"dataclasses.field", "pydantic.Field", "attr.ib", "attrs.field", "attr.field"})
FACTORIES = ("default_factory", "factory")


def field_default(run: Execution, value: Value) -> Value:
    """The default of a declared field; other values are themselves."""
    if not (isinstance(value, Applied) and value.callee in MAKERS):
        return value
    if "default" in value.keywords:
        return value.keywords["default"]
    for name in FACTORIES:
        if name in value.keywords:
            return run.force(calls.call_value(run, value.keywords[name], (), {}, value.site))
    is_positional = value.callee == "pydantic.Field" and value.args
    return value.args[0] if is_positional else value
