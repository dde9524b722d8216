"""The optimizers of a trainer of Hugging Face's kind: made by its `create_optimizer`, or handed to it.

They are followed with the very trainer whose hook was walked, so that the networks are the same ones.
"""

from __future__ import annotations

from stethoscope.program.index import Function
from stethoscope.program.loop.parameter_owners import Holder, is_optimizer_made, owners_of
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.framework_bases import is_trainer
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import NOTHING, Applied, Instance, Outside

CREATING = ("create_optimizer", "create_optimizer_and_scheduler")
STEPS = 6_000


@remembered
def trainer_optimizers(trace: Trace) -> tuple[Holder, ...]:
    """The optimizers of the trainer whose hook was walked; none where one of them could not be followed."""
    trainer = trace.module
    if trainer is None or not is_trainer(trace.run.index, trainer.cls):
        return ()
    handed = trainer.attributes.get("optimizer")
    if isinstance(handed, Applied):
        calls = [one for one in (_as_call(handed),) if is_optimizer_made(one)]
    else:
        methods = (trace.run.index.method(trainer.cls, name) for name in CREATING)
        method = next((one for one in methods if one is not None), None)
        calls = _made_in(trace, trainer, method) if method is not None else []
    found = tuple(_holder(trace, call) for call in calls)
    return found if all(holder.is_known for holder in found) else ()


def _made_in(trace: Trace, trainer: Instance, method: Function) -> list[Call]:
    run = trace.run
    met, steps, scope = len(run.events), run.steps, run.scope
    run.steps, run.scope = STEPS, None
    unasked = {name: NOTHING for name in method.parameters[1:] if name == "model"}
    try:
        run.enter(method, trainer, unasked)
        return [one for one in run.events[met:] if isinstance(one, Call) and is_optimizer_made(one)]
    except (Exhausted, RecursionError):
        return []
    finally:
        del run.events[met:]
        run.steps, run.scope = steps, scope


def _holder(trace: Trace, call: Call) -> Holder:
    owners, is_known = owners_of(trace.run, call.argument(0, "params"))
    return Holder(call, len(trace.events), owners, is_known and call.arguments_known)


def _as_call(made: Applied) -> Call:
    name = made.callee.rpartition(".")[2]
    return Call(made.site, None, (), name, None, Outside(made.callee), made.args, made.keywords, True)
