"""What a process gives back for a page: markup, what its charts draw, and the same for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The inside of a page, and its JSON twin. The markup is made by the report's own functions."""

    title: str
    markup: str
    told: dict[str, Any]
    charts: list[dict[str, Any]] = field(default_factory=list)
