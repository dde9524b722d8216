"""Loaders that an engine of differential privacy replaces by its own, which draws the batches at random."""

from __future__ import annotations

from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.walk.events import Call

PRIVATE = frozenset({"make_private", "make_private_with_epsilon"})


def is_made_private(loader: TrainingLoader) -> bool:
    """Whether Opacus is given a loader: it samples anew, and shares the samples out among the ranks."""
    events = loader.loop.trace.events if loader.loop is not None else ()
    calls = (event for event in events if isinstance(event, Call) and event.name in PRIVATE)
    return any(given is loader.made for call in calls for given in (*call.args, *call.keywords.values()))
