"""One look at a run that is being written: what was added is read, judged, and what is worth it told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from stethoscope.diagnose import judged
from stethoscope.errors import NothingToRead
from stethoscope.run import Run
from stethoscope.watching import alerts
from stethoscope.watching import heartbeat as heart
from stethoscope.watching.alerts import Alert, Memories
from stethoscope.watching.followed_run import FollowedRun, Unwatchable
from stethoscope.watching.guard_words import GuardWords
from stethoscope.watching.heartbeat import Heartbeat, Pulse
from stethoscope.watching.state import KEPT_ALERTS, State
from stethoscope.watching.vital_signs import vital_signs


@dataclass(slots=True)
class Watch:
    """A run under watch. `look` reads what was added and judges; `state` is what it knows since."""

    path: str
    clock: Callable[[], float] = time.time
    state: State = field(init=False)
    _run: FollowedRun = field(init=False)
    _memories: Memories = field(default_factory=dict)
    _pulse: Pulse | None = None
    _guard: GuardWords = field(default_factory=GuardWords)
    _judged: bool = False

    def __post_init__(self) -> None:
        self.state = State(self.path)
        self._run = FollowedRun(self.path)

    @property
    def over(self) -> bool:
        """Whether the logs say that the run has ended."""
        return self.state.diagnosis is not None and alerts.is_over(self.state.diagnosis)

    @property
    def settled(self) -> bool:
        """Whether all was read that is read only once, so that what a look costs is what the next will."""
        return self._run.settled

    def look(self) -> tuple[Alert, ...]:
        """Read what was added, judge the run where something was, and give what is to be told."""
        began = time.perf_counter()
        try:
            run = self._run.poll()
            self.state = replace(self.state, waiting="", problem="")
            self.refresh()
            return self._judge(run, began) if run is not None else self._feel_pulse()
        except NothingToRead as nothing:
            self.state = replace(self.state, waiting=str(nothing))
        except Unwatchable:
            raise
        except Exception as problem:
            if os.environ.get("STETHOSCOPE_DEBUG"):
                raise
            # Whatever stands in a file for a moment, the next look may find it mended.
            self.state = replace(self.state, problem=f"could not look: {type(problem).__name__}: {problem}")
        return ()

    def _judge(self, run: Run, began: float) -> tuple[Alert, ...]:
        now = self.clock()
        self._guard.hear(self._run.log_files)
        self._pulse = heart.reached(self._pulse or heart.began(self._run.written, now), run, now)
        self.state = replace(
            self.state,
            diagnosis=judged(run),
            signs=vital_signs(run),
            judged_at=now,
            cost=time.perf_counter() - began,
        )
        self.state = replace(self.state, beat=self._beat())
        return self._tell()

    def _feel_pulse(self) -> tuple[Alert, ...]:
        """Nothing was added: perhaps the run stands still."""
        if self.state.diagnosis is None:
            return ()
        stood = self.state.beat.stalled
        self.state = replace(self.state, beat=self._beat())
        return self._tell() if self.state.beat.stalled and not stood else ()

    def refresh(self) -> None:
        """Bring the times of the state up to this moment; that a run stands still is for `look` to say."""
        if self.state.diagnosis is None or self._pulse is None:
            return
        if self._run.has_grown():
            self._pulse = heart.grown(self._pulse, self.clock())
        self.state = replace(self.state, beat=replace(self._beat(), stalled=self.state.beat.stalled))

    def _beat(self) -> Heartbeat:
        assert self.state.diagnosis is not None
        assert self._pulse is not None
        return heart.heartbeat(self._pulse, self.state.diagnosis.run, self.clock(), self.over)

    def _may_be_the_last(self) -> bool:
        """Whether no further judgement may come."""
        return self.over or self.state.beat.stalled

    def _tell(self) -> tuple[Alert, ...]:
        assert self.state.diagnosis is not None
        first = not self._judged
        self._judged = True
        seen = alerts.sightings(self.state.diagnosis, self.state.beat, self._guard.sightings)
        self._memories, told = alerts.update(self._memories, seen, at_once=self._may_be_the_last())
        now = self.clock()
        # What was there when the watching began stands under the findings.
        listed = () if first else tuple((now, alert) for alert in told)
        kept = (*self.state.alerts, *listed)[-KEPT_ALERTS:]
        self.state = replace(self.state, seen=seen, alerts=kept)
        return told
