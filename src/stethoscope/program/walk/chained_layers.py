"""The layers of a chain: `nn.Sequential(...)`, and objects of classes derived from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Index
from stethoscope.program.walk.values import Applied, Instance, Items, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

GIVEN = "_modules"  # where a chain keeps its layers


def layers_of(run: Execution, chain: Value) -> list[Value] | None:
    """The layers of a chain in their order; None where it is no chain, or they are not known."""
    match chain:
        case Applied(callee=callee, args=args, keywords=keywords) if callee.endswith("nn.Sequential"):
            return list(_spread(args)) if not keywords else None
        case Instance(cls=cls) if is_chain(run.index, cls):
            run.initialise(chain)
            given = chain.attributes.get(GIVEN)
            return list(_spread(given.items)) if isinstance(given, Items) else None
    return None


def is_chain(index: Index, cls: Class) -> bool:
    """Whether a class is a chain of layers that has no forward of its own."""
    is_derived = any(base.endswith("nn.Sequential") for base in index.outside_bases(cls))
    return is_derived and index.method(cls, "forward") is None


def kept_by_chain(
    index: Index, cls: Class, args: Sequence[Value], keywords: Mapping[str, Value]
) -> dict[str, Value]:
    """The layers that a class derived from a chain gives to its base."""
    return {GIVEN: Items(list(args))} if not keywords and is_chain(index, cls) else {}


def _spread(given: Sequence[Value]) -> Iterator[Value]:
    for one in given:
        match one:
            case Items(items=items):
                yield from items
            case Table(entries=entries, rest=rest):
                yield from (*entries.values(), *rest)
            case _:
                yield one
