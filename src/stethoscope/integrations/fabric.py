"""Guard in Lightning Fabric: the parts that `fabric.setup` has wrapped, unwrapped.

The loop keeps its own lines; three are added, as in a plain one:

    model, optimizer = fabric.setup(model, optimizer)
    guard = guard_fabric(fabric, model, optimizer)
    for batch in guard.batches(loader):
        loss = ...
        guard.loss(loss)
        fabric.backward(loss)
        optimizer.step()
"""

from __future__ import annotations

from typing import Any

from stethoscope.guard.guard import Guard


def guard_fabric(fabric: Any, model: Any, optimizer: Any, **options: Any) -> Guard:
    """Make a Guard of what `fabric.setup` gave; `options` are those of `Guard`.

    The scaler of `precision="16-mixed"` is found by itself. `directory` is the `log_dir` of the first logger
    where it is not given; without a logger nothing is written.
    """
    options.setdefault("scaler", getattr(fabric.strategy.precision, "scaler", None))
    options.setdefault("directory", _log_dir(fabric))
    is_wrapped = hasattr(model, "_forward_module")
    return Guard(model.module if is_wrapped else model, optimizer, **options)


def _log_dir(fabric: Any) -> Any:
    logger = next(iter(fabric.loggers), None)
    return getattr(logger, "log_dir", None)
