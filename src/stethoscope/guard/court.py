"""Judges steps that have arrived on the host, tells what happened, and does what the judge asks for.

This is off the hot path: once a window, or at once where the step is known to be bad.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from stethoscope.guard import judging
from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy

LOGGER = logging.getLogger("stethoscope.guard")
REMEMBERED = 1000  # happenings that `Guard.happenings` holds
TELEMETRY = 256  # observations that go into a black box

_LEVELS = {Severity.NOTE: logging.INFO, Severity.WARNING: logging.WARNING, Severity.CRITICAL: logging.ERROR}


class Witness(Protocol):
    """Who is told of every observation and happening: the flight record, a forwarder."""

    def rows(self, observations: Sequence[Observation]) -> None:
        """Take the steps of a window."""

    def happened(self, happening: Happening) -> None:
        """Take what happened."""

    def close(self) -> None:
        """Nothing more will come."""


class Court:
    """The state of the judgement, and everyone who must hear of it."""

    def __init__(self, policy: Policy, witnesses: Sequence[Witness], is_first: bool = True) -> None:
        self.policy = policy
        self.witnesses = list(witnesses)
        self.happenings: deque[Happening] = deque(maxlen=REMEMBERED)
        self.recent: deque[Observation] = deque(maxlen=TELEMETRY)
        self.judgement = judging.begin(policy)
        self.investigate: Callable[[Happening], None] = lambda happening: None
        self._is_first = is_first  # only one of the ranks writes into the log

    def hear(self, observations: Sequence[Observation]) -> Happening | None:
        """Judge steps in their order; the gravest thing that asks for an answer is given back."""
        if not observations:
            return None
        for witness in self.witnesses:
            witness.rows(observations)
        asked: Happening | None = None
        for seen in observations:
            self.recent.append(seen)
            self.judgement, happened = judging.update(self.judgement, seen, self.policy)
            for happening in happened:
                self.tell(happening)
                self.investigate(happening)
                asked = _graver(asked, happening)
        return asked

    def tell(self, happening: Happening) -> None:
        """Write down what happened, and say it where it is more than a note."""
        self.happenings.append(happening)
        for witness in self.witnesses:
            witness.happened(happening)
        if self._is_first or happening.severity is not Severity.NOTE:
            LOGGER.log(_LEVELS[happening.severity], "step %d: %s", happening.step, happening.text())

    def report(self, last: Happening) -> str:
        """What a person needs who finds the training stopped."""
        counts: dict[Kind, int] = {}
        for happening in self.happenings:
            if happening.severity is not Severity.NOTE:
                counts[happening.kind] = counts.get(happening.kind, 0) + 1
        before = ", ".join(f"{kind.value} {count} times" for kind, count in counts.items())
        where = f" Before that: {before}." if before else ""
        return f"Guard stopped the training at step {last.step}. {last.text()}{where}"

    def close(self) -> None:
        """Nothing more will come."""
        for witness in self.witnesses:
            witness.close()


def shared(observations: Sequence[Observation], losses: Mapping[int, float]) -> list[Observation]:
    """Observations whose loss is the mean over all ranks, where that is known."""
    return [
        replace(one, values={**one.values, "loss": losses[one.step]})
        if one.step in losses and "loss" in one.values
        else one
        for one in observations
    ]


def _graver(before: Happening | None, happening: Happening) -> Happening | None:
    order = (Answer.NONE, Answer.REWIND, Answer.STOP)
    if happening.answer is Answer.NONE:
        return before
    if before is None or order.index(happening.answer) > order.index(before.answer):
        return happening
    return before
