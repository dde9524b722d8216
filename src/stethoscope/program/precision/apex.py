"""Mixed precision as apex does it: `amp.initialize` casts a network, `amp.scale_loss` scales its loss."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.index import dotted
from stethoscope.program.precision.autocast import Autocast, DType
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.values import Choice, Constant, Items, Outside, Site, Value

LEVELS = ("O1", "O2", "O3")  # what casts to float16; O0 is float32


@dataclass(frozen=True, slots=True, eq=False)
class Initialised:
    """A call of `amp.initialize`: the region it stands for, the networks it gets, and where."""

    autocast: Autocast
    networks: tuple[Value, ...]
    site: Site


def initialised(events: Iterable[Event]) -> Iterator[Initialised]:
    """Every call among events by which apex casts networks to float16."""
    for event in events:
        if isinstance(event, Call) and event.name == "initialize" and _is_of_apex(event):
            autocast = _autocast(event)
            if not autocast.is_off:
                given = event.argument(0, "models")
                networks = tuple(given.items) if isinstance(given, Items) else (given,) if given else ()
                yield Initialised(autocast, networks, event.site)


def is_scaled_by_apex(event: Event) -> bool:
    """Whether an event happens inside `with amp.scale_loss(loss, optimizer)`."""
    return any(
        isinstance(scope.node, ast.Call) and (dotted(scope.node.func) or "").endswith("scale_loss")
        for scope in event.scopes()
        if scope.kind == "with"
    )


def _is_of_apex(call: Call) -> bool:
    # Where apex is optional, `amp` is the module or None.
    for value in (call.receiver, call.callee):
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, Outside) and option.name.startswith("apex"):
                return True
    return False


def _autocast(call: Call) -> Autocast:
    level = call.argument(3, "opt_level")
    enabled = call.argument(2, "enabled")
    switch = enabled.value if isinstance(enabled, Constant) else None if enabled is not None else True
    dtypes = frozenset({DType.FLOAT16})
    if level is None or (isinstance(level, Constant) and level.value in LEVELS):
        return Autocast(dtypes, None if switch is None else bool(switch))
    if isinstance(level, Constant):
        return Autocast(frozenset(), False)
    return Autocast(dtypes, None, known=False)
