"""The optimizers that a LightningModule gives its trainer, and what each of them was given."""

from __future__ import annotations

from stethoscope.program.loop.parameter_owners import Holder, is_optimizer_made, owners_of
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.ancestry import MOST_VALUES
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import FunctionValue


@remembered
def configured_optimizers(trace: Trace) -> tuple[Holder, ...]:
    """What `configure_optimizers` of a hook's module makes, with the walk left as it was; nothing where what
    one of them was given could not be followed."""
    run, module = trace.run, trace.module
    method = run.index.method(module.cls, "configure_optimizers") if module is not None else None
    if method is None:
        return ()
    events, scope, steps = len(run.events), run.scope, run.steps
    run.steps = max(steps, MOST_VALUES)
    found: list[Holder] = []
    try:
        run.follow(FunctionValue(method, module), (), {})
        for event in run.events[events:]:
            if isinstance(event, Call) and is_optimizer_made(event):
                owners, is_known = owners_of(run, event.argument(0, "params"))
                found.append(Holder(event, 0, owners, is_known and event.arguments_known))
    except (Exhausted, RecursionError):
        return ()
    finally:
        del run.events[events:]
        run.scope, run.steps = scope, steps
    return tuple(found) if all(one.is_known for one in found) else ()
