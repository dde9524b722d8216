"""Remembering the last few answers of a function whose arguments are compared by identity.

Settings are compared by what was asked of them: a program that is examined under a hundred files walks the
same way under all that differ only in what it never asks for.
"""

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
            alike = next((held for held, (past, _) in answers.items() if _alike(args, past)), None)
            if alike is not None:
                answers.move_to_end(alike)
                return answers[alike][1]
            # The arguments are kept too: an id is only good while its object lives.
            answers[key] = (args, function(*args))
            if len(answers) > KEPT:
                answers.popitem(last=False)
        return answers[key][1]

    vars(ask)["cache_clear"] = answers.clear
    return ask


def _alike(args: tuple[Any, ...], past: tuple[Any, ...]) -> bool:
    """Whether arguments are the same objects, or settings that gave the same answers so far."""
    return len(args) == len(past) and all(
        new is old or (hasattr(new, "answers_like") and new.answers_like(old))
        for new, old in zip(args, past, strict=True)
    )
