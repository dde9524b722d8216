"""How a Guard begins inside a framework: not at all where it cannot work, anew where nothing is restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from stethoscope.guard import Guard
from stethoscope.guard.court import LOGGER


def made(model: nn.Module, optimizers: Any | Sequence[Any], **options: Any) -> Guard | None:
    """A Guard, or None where it cannot work here; arguments that make no sense still raise."""
    try:
        return Guard(model, optimizers, **options)
    except (TypeError, ValueError):
        raise
    except Exception as problem:
        LOGGER.error("Guard cannot work here; the training goes on without it. %s", problem, exc_info=problem)
        return None


def restored(guard: Guard, learned: Mapping[str, Any]) -> None:
    """Give a Guard what it had learned, where there is something and it can be read."""
    try:
        if learned:
            guard.load_state_dict(learned)
    except Exception as problem:
        LOGGER.warning("Guard begins anew: what it had learned could not be restored. %s", problem)
