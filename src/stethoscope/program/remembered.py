"""Remembering the last few answers of a function whose arguments are compared by identity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")

KEPT = 4


def remembered(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Ask once for the same objects: programs are large, and a recipe may hold what cannot be hashed."""
    answers: OrderedDict[tuple[int, ...], tuple[tuple[Any, ...], Answer]] = OrderedDict()

    @wraps(function)
    def ask(*args: Any) -> Answer:
        key = tuple(map(id, args))
        if key not in answers:
            # The arguments are kept too: an id is only good while its object lives.
            answers[key] = (args, function(*args))
            if len(answers) > KEPT:
                answers.popitem(last=False)
        return answers[key][1]

    return ask
