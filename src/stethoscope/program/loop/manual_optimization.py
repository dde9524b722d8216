"""Lightning modules that optimize by hand: what their hooks do, in the order in which Lightning calls them.

With `automatic_optimization = False` Lightning still has the loops over epochs and batches, but clears,
clips and steps nothing by itself: a round is what the hooks of the module do. `self.optimizers()` and
`self.lr_schedulers()` give back what `configure_optimizers` made.
"""

from __future__ import annotations

import ast

from stethoscope.program.index import Function
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Scope
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Choice, Constant, Instance, Items, LambdaValue, Table, Value

BEFORE_BATCHES = ("on_train_epoch_start",)
EACH_BATCH = ("on_train_batch_start", "training_step", "on_train_batch_end")
AFTER_BATCHES = ("on_train_epoch_end",)
# Hooks that are called in the middle of a backward pass or a step, and may do part of it.
IN_BETWEEN = (
    *("on_before_zero_grad", "on_before_backward", "on_after_backward", "on_before_optimizer_step"),
    *("optimizer_zero_grad", "optimizer_step", "backward"),
)
LOOPS = "for epoch in range(max_epochs):\n    for batch in train_dataloader: pass\n"


def is_by_hand(run: Execution, module: Instance) -> bool:
    """Whether a module does all of a round in hooks whose order is known."""
    switch = _switch(run, module)
    if not isinstance(switch, Constant) or switch.value is not False:
        return False
    known = run.index.method(module.cls, "configure_optimizers")
    own = (*IN_BETWEEN, "optimizers", "lr_schedulers")
    return known is not None and all(run.index.method(module.cls, name) is None for name in own)


def _switch(run: Execution, module: Instance) -> Value | None:
    """`automatic_optimization`: set by the constructor, or a property."""
    run.initialise(module)
    switch = run.index.method(module.cls, "automatic_optimization")
    if switch is not None:
        return run.enter(switch, module)
    return module.attributes.get("automatic_optimization")


def walk_by_hand(run: Execution, step: Function, module: Instance) -> None:
    """Follow the hooks of a module inside the loops that Lightning has around them."""
    _configure(run, step, module)
    tree = ast.parse(LOOPS)
    for node in all_nodes(tree):
        ast.copy_location(node, step.node)
    epochs = tree.body[0]
    assert isinstance(epochs, ast.For)
    around = Scope("loop", epochs, step.source, None)
    inside = Scope("loop", epochs.body[0], step.source, around)
    for scope, names in ((around, BEFORE_BATCHES), (inside, EACH_BATCH), (around, AFTER_BATCHES)):
        for name in names:
            hook = step if name == step.name else run.index.method(module.cls, name)
            if hook is not None:
                run.scope = scope
                run.enter(hook, module)
        run.finished.add(scope.node)
    run.scope = None


def _configure(run: Execution, step: Function, module: Instance) -> None:
    """Let the module's `optimizers()` and `lr_schedulers()` give what `configure_optimizers` made."""
    method = run.index.method(module.cls, "configure_optimizers")
    made = run.force(run.enter(method, module)) if method is not None else None
    for name, role in (("optimizers", Role.OPTIMIZER), ("lr_schedulers", Role.SCHEDULER)):
        found = _of_role(run, made, role)
        if found:
            given = found[0] if len(found) == 1 else Items(found)
            node = ast.parse("lambda: given", mode="eval").body
            assert isinstance(node, ast.Lambda)
            module.attributes[name] = LambdaValue(node, step.source, {"given": given})


def _of_role(run: Execution, made: Value | None, role: Role) -> list[Value]:
    """The optimizers or schedulers in what was configured: one, rows of them, or tables with both."""
    made = run.force(made) if made is not None else None
    match made:
        case Items(items=items):
            return [one for item in items for one in _of_role(run, item, role)]
        case Table(entries=entries):
            kept = [
                value for key, value in entries.items() if key in {"optimizer", "lr_scheduler", "scheduler"}
            ]
            return [one for value in kept for one in _of_role(run, value, role)]
        case Choice():
            return []
        case None:
            return []
    return [made] if role_of(run, made) is role else []
