"""Numbers that source, settings and the defaults of options give, through the arithmetic done on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from stethoscope.program.index import Index
from stethoscope.program.loop.schedules import counts_batches
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.option import Option
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Extent
from stethoscope.program.walk.values import Applied, Constant, Items, Leaf, Part, Settings, Value

EPOCHS = frozenset({"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs", "nepochs", "epoch_num"})
USUAL_BATCH = 16.0  # samples, where nothing says how many
DEEPEST = 12  # operations between a number and what it is computed from
PARSING = (".parse_args", ".parse_known_args")

COMPUTED: Mapping[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "int": int,
    "float": float,
    "round": round,
    "abs": abs,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
}


def known_number(run: Execution, value: Value | None, depth: int = DEEPEST) -> float | None:
    """The number that a value is, where everything that it is computed from is known."""
    value = quietly(run, value) if value is not None else None
    match value:
        case Constant(value=int() | float() as known) if not isinstance(known, bool):
            return float(known)
        case Part(base=base, key=str() as key) if is_parsed(run, base):
            return option_defaults(run.index).get(key)
        case Applied(callee="len") if run.extent is not None and counts_batches(run, value):
            return float(run.extent.batches)
        case Applied(callee="len", args=[counted]) if run.extent is not None:
            size = _batch_taken_from(run, counted, depth)
            return run.extent.batches * size if size is not None else None
        case Part(key=str() as name) | Leaf(name=name) if run.extent is not None:
            return _usual(run, name, run.extent)
        case Applied(callee=callee, args=args, keywords=keywords) if callee in COMPUTED and depth:
            given = [known_number(run, one, depth - 1) for one in args]
            return None if keywords or None in given else _result(callee, given)
    return None


def _batch_taken_from(run: Execution, counted: Value, depth: int) -> float | None:
    """How many samples a loader takes at once out of what is counted, where it goes through all of it."""
    for event in run.events if depth else ():
        if not isinstance(event, Call) or bare_name(event.site.node) != "DataLoader" or not event.args:
            continue
        if {"sampler", "batch_sampler"} & event.keywords.keys() or not _is_same(run, event.args[0], counted):
            continue
        size = event.argument(1, "batch_size")
        known = known_number(run, size, depth - 1) if size is not None else 1.0
        return known if known is not None else USUAL_BATCH
    return None


def _is_same(run: Execution, one: Value, other: Value) -> bool:
    one, other = quietly(run, one), quietly(run, other)
    if isinstance(one, Applied) and isinstance(other, Applied):
        return one.site.node is other.site.node
    match one, other:
        case Part(base=a, key=key), Part(base=b, key=other_key):
            return key == other_key and _is_same(run, a, b)
    return one is other or (isinstance(one, Leaf) and one == other)


def _usual(run: Execution, name: str, extent: Extent) -> float | None:
    """What an option has by default; epochs that are not said are as many as are tried."""
    default = default_numbers(run.index).get(name)
    return default if default is not None else float(extent.epochs) if name in EPOCHS else None


def _result(callee: str, given: list[float | None]) -> float | None:
    try:
        return float(COMPUTED[callee](*given))
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        return None


def known_numbers(run: Execution, value: Value | None) -> list[float]:
    """The numbers of a row, empty where one of them is not known."""
    value = quietly(run, value) if value is not None else None
    row: list[float | None] = []
    if isinstance(value, Items):
        row = [known_number(run, item) for item in value.items]
    elif isinstance(value, Settings) and isinstance(value.tree, list):
        row = [float(one) if isinstance(one, int | float) else None for one in value.tree]
    known = [number for number in row if number is not None]
    return known if len(known) == len(row) else []


def is_parsed(run: Execution, value: Value) -> bool:
    """Whether a value is what a parser made of the command line."""
    value = quietly(run, value)
    return isinstance(value, Applied) and value.callee.endswith(PARSING)


@remembered
def option_defaults(index: Index) -> dict[str, float]:
    """The numbers that flags have where nobody types them; of a flag with several, none is known."""
    return _agreed(option for option in declared_options(index) if option.kind == "flag")


@remembered
def default_numbers(index: Index) -> dict[str, float]:
    """The numbers that options of any kind have by default, the fields of records among them."""
    return _agreed(declared_options(index))


def _agreed(options: Iterable[Option]) -> dict[str, float]:
    found: dict[str, list[object]] = {}
    for option in options:
        found.setdefault(option.name.replace("-", "_"), []).append(option.default)
    return {
        name: float(known)
        for name, (known, *others) in found.items()
        if isinstance(known, int | float)
        and not isinstance(known, bool)
        and all(other == known for other in others)
    }
