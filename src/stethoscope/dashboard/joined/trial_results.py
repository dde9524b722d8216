"""The results of trials below the folder, as `stethoscope trial` wrote them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from stethoscope.dashboard.houses import House
from stethoscope.errors import StethoscopeError
from stethoscope.run.proof import KIND, MOST_BYTES, SCHEMA


def trial_result(house: House, inside: str) -> dict[str, Any]:
    """One result; raises StethoscopeError where it cannot be read as one."""
    path = house.path(inside)
    try:
        if os.stat(path).st_size > MOST_BYTES:
            raise StethoscopeError(f"{inside} is too large to be the result of a trial.")
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise StethoscopeError(f"{inside}: {(problem.strerror or str(problem)).lower()}.") from None
    except (ValueError, RecursionError):
        raise StethoscopeError(f"{inside} is not the result of a trial.") from None
    with suppress(KeyError, TypeError):
        if told["kind"] == KIND and told["schema"] == SCHEMA and isinstance(told["changes"], list):
            return dict(told)
    raise StethoscopeError(f"{inside} was written by another version.")
