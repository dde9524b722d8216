"""What a function becomes by the decorators of the repository that stand above it.

`@in_eval_mode` above a function puts its wrapper in the function's place: who calls the function runs the
wrapper, and the function itself where the wrapper calls it. Decorators from outside leave a function as it
is; what they switch is read from their names where it matters.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.walk import calls
from stethoscope.program.walk.values import FunctionValue, Instance, Site, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution
    from stethoscope.program.walk.frames import Frame


def decorated(run: Execution, plain: FunctionValue, frame: Frame) -> Value:
    """What a name means below whose decorators a function was defined; the function where none wraps it."""
    function = plain.function
    value: Value = plain
    for node in reversed(function.node.decorator_list):
        if not _is_own(run, node, frame):
            continue
        mark, scope = len(run.events), run.scope
        wrapped = calls.call_value(
            run, run.evaluate(node, frame), (value,), {}, Site(frame.module.source, node)
        )
        # Decorating happens when the module is read, and nothing of it belongs to the training.
        del run.events[mark:]
        run.scope = scope
        wrapped = run.force(wrapped)
        is_object = isinstance(wrapped, Instance) and function.owner is None
        if is_object or isinstance(wrapped, FunctionValue):
            value = wrapped
    return value


def _is_own(run: Execution, decorator: ast.expr, frame: Frame) -> bool:
    """Whether a decorator is a function or class of the repository, or a method: `@engine.on("end")`."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = dotted(target)
    if name is None or (name in frame.names and frame.function is not None):
        return False
    if "." in name and name.partition(".")[0] in frame.names:
        return isinstance(run.force(run.evaluate(target, frame)), FunctionValue)
    return isinstance(run.index.resolve(frame.module, name), Function | Class)
