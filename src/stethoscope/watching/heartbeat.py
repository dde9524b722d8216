"""How far a run is, how fast it goes, and whether it stands still."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.run import Run

RATE_SECONDS = 300.0  # the speed is that of the last few minutes
MOST_KEPT = 1000
QUIET_SECONDS = 120.0  # no log that is written every few seconds pauses longer, but for a validation ...
QUIET_FACTOR = 3.0  # ... so a run stands still once it has paused so many times as long as it ever did
LONGEST_PATIENCE = 3600.0  # a run that stood still for a night does not teach to wait for three
WARM_SECONDS = 600.0  # a log that was silent so long before the watching began is not called running


@dataclass(frozen=True, slots=True)
class Pulse:
    """When the logs grew, by the clock of whoever watches: last, and the longest pause so far, in seconds.

    `reached` holds moments and the steps that the run had reached at them, for its speed.
    """

    since: float | None = None
    grown: int = 0
    longest: float = 0.0
    reached: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a person asks first. `rate` is in steps per second, `silent` and `left` in seconds."""

    step: int | None = None
    total: int | None = None
    axis: str = "step"
    rate: float | None = None
    silent: float | None = None
    stalled: bool = False

    @property
    def left(self) -> float | None:
        """The time until the announced end, at this speed."""
        if self.step is None or self.total is None or not self.rate or self.stalled:
            return None
        return max(0, self.total - self.step) / self.rate


def began(written: float | None, now: float) -> Pulse:
    """The pulse of a run at the first look: its last line is as old as its file."""
    return Pulse(now if written is None else min(now, written))


def grown(pulse: Pulse, now: float) -> Pulse:
    """Take note that a log grew."""
    pause = now - pulse.since if pulse.grown and pulse.since is not None else 0.0
    return replace(pulse, since=now, grown=pulse.grown + 1, longest=max(pulse.longest, pause))


def reached(pulse: Pulse, run: Run, now: float) -> Pulse:
    """Take note of how far the run is."""
    step = run.steps[1] if run.steps else -1
    if pulse.reached and step < pulse.reached[-1][1]:  # begun again
        return replace(pulse, reached=((now, step),))
    return replace(pulse, reached=(*pulse.reached, (now, step))[-MOST_KEPT:])


def heartbeat(pulse: Pulse, run: Run, now: float, over: bool) -> Heartbeat:
    """How the run stands at this moment; one that is `over` does not stand still."""
    silent = None if pulse.since is None or not run.logs else max(0.0, now - pulse.since)
    return Heartbeat(
        run.steps[1] if run.steps else None,
        max((log.total_steps for log in run.logs if log.total_steps), default=None),
        _axis(run),
        _rate(pulse) or _rate_on_the_whole(run),
        silent,
        not over and silent is not None and silent > _patience(pulse),
    )


def duration(seconds: float) -> str:
    """A time in the two largest units that people use: 2 h 5 min."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole % 86400 // 3600, whole % 3600 // 60
    if days:
        return f"{days:,} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{whole} s"


def _axis(run: Run) -> str:
    axes = {series.axis for series in run.series.values() if len(series)}
    return "step" if "step" in axes or not axes else sorted(axes)[0]


def _rate(pulse: Pulse) -> float | None:
    """The speed seen while watching."""
    if len(pulse.reached) < 2:
        return None
    time, step = pulse.reached[-1]
    earlier, before = next(pair for pair in pulse.reached if time - pair[0] <= RATE_SECONDS)
    if earlier == time:
        earlier, before = pulse.reached[-2]
    return (step - before) / (time - earlier) if time > earlier and step > before else None


def _rate_on_the_whole(run: Run) -> float | None:
    """The speed by the log's own clock, from its first line to its last."""
    if len(run.logs) != 1 or run.steps is None:
        return None
    log, (first, last) = run.logs[0], run.steps
    if log.started is None or log.last_written is None or log.last_written <= log.started or last <= first:
        return None
    return (last - first) / (log.last_written - log.started)


def _patience(pulse: Pulse) -> float:
    if not pulse.grown:
        return WARM_SECONDS
    return min(max(QUIET_SECONDS, QUIET_FACTOR * pulse.longest), LONGEST_PATIENCE)
