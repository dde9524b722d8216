"""All that a value was made from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.network_passes import detaches
from stethoscope.program.walk.values import Applied, Delayed, Part, Value, inputs

MOST_VALUES = 3_000  # looked at from one value


def ancestry(
    run: Execution, value: Value | None, stops: Callable[[Value], bool] | None = None
) -> Iterator[Value]:
    """A value and all it was made from, nearest first; `stops` says behind which values not to look."""
    waiting: deque[Value] = deque([] if value is None else [value])
    seen: set[int] = set()
    while waiting and len(seen) < MOST_VALUES:
        current = waiting.popleft()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if stops is not None and stops(current):
            continue
        waiting.extend(inputs(current))
        if isinstance(current, Delayed):
            waiting.append(quietly(run, current))


def cuts_gradient(value: Value) -> bool:
    """Whether gradients do not go behind a value: `.detach()`, `.item()`, `.data`, `float(...)`."""
    if isinstance(value, Part):
        return value.key in {"data", "shape", "grad"}
    return isinstance(value, Applied) and (detaches(value) or _is_plain_gradient(value))


def _is_plain_gradient(value: Applied) -> bool:
    """`torch.autograd.grad(loss, x)`: numbers, unless a graph of them is asked for."""
    graph = value.keywords.get("create_graph")
    return value.callee == "torch.autograd.grad" and (graph is None or getattr(graph, "value", None) is False)


def quietly(
    run: Execution, value: Value, follow: Callable[[Execution, Value], Value] = Execution.force
) -> Value:
    """What a call that was put off gives, by `follow`, with the walk left as it was."""
    events, scope, steps = len(run.events), run.scope, run.steps
    run.steps = max(steps, MOST_VALUES)
    try:
        return follow(run, value)
    except (Exhausted, RecursionError):
        return value
    finally:
        del run.events[events:]
        run.scope, run.steps = scope, steps
