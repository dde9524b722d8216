"""What several terms of a loss are computed from, as `pred = x + net(x)` in pixels and in a spectrum."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.program.walk.values import Applied, Constant, Value, inputs

MOST_VISITED = 1_000


def shared_values(terms: Sequence[Value]) -> frozenset[int]:
    """The ids of the computed values that at least two terms have in them."""
    met: set[int] = set()
    shared: set[int] = set()
    for term in terms:
        below = _below(term)
        shared |= met & below
        met |= below
    return frozenset(shared)


def _below(term: Value) -> set[int]:
    seen: set[int] = set()
    computed: set[int] = set()
    waiting = [term]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen or isinstance(current, Constant):
            continue
        seen.add(id(current))
        if isinstance(current, Applied):
            computed.add(id(current))
        waiting.extend(inputs(current))
    return computed
