"""Guard in an Accelerate loop: the parts that `accelerator.prepare` has wrapped, unwrapped.

The loop keeps its own lines; three are added, as in a plain one:

    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    guard = guard_accelerate(accelerator, model, optimizer, schedule=schedule)
    for batch in guard.batches(loader):
        with accelerator.accumulate(model):
            loss = ...
            guard.loss(loss)
            accelerator.backward(loss)
            optimizer.step()
"""

from __future__ import annotations

from typing import Any

from stethoscope.guard.guard import Guard


def guard_accelerate(accelerator: Any, model: Any, optimizer: Any, **options: Any) -> Guard:
    """Make a Guard of what `accelerator.prepare` gave; `options` are those of `Guard`.

    The scaler of `mixed_precision="fp16"` is found by itself. `directory` is the accelerator's `project_dir`
    where it is not given; without one nothing is written.
    """
    options.setdefault("scaler", accelerator.scaler)
    options.setdefault("directory", accelerator.project_dir)
    return Guard(accelerator.unwrap_model(model), optimizer, **options)
