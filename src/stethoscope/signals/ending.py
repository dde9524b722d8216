"""Why the run ended; always answered."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stethoscope.run import Event, EventKind, Log, Run, Series, Setting, Where

STILL_WARM = 10 * 60.0  # seconds since the last line, after which a silent run is no longer called running
SAME_BREATH = 200  # lines: a crash and its consequences are printed together
LEAST_STEPS = 50  # of a log, for its last step to equal a setting by no chance
CONSEQUENCE = 4  # how far from the reason of an end what it brings about is, at least

FINISHED = "finished"
STILL_RUNNING = "still running"
UNKNOWN = "unknown"

_FATAL = frozenset(
    {
        *(EventKind.OUT_OF_MEMORY, EventKind.DISK_FULL, EventKind.DATA_WORKER_DIED),
        *(EventKind.COLLECTIVE_TIMEOUT, EventKind.DEVICE_ASSERT, EventKind.STOPPED_BY_USER),
        *(EventKind.STOPPED_BY_GUARD, EventKind.TRACEBACK, EventKind.CRASHED, EventKind.KILLED),
    }
)
# What is raised where another process, or another exception, is the reason.
_WRAPPED = re.compile(
    r"\b(?:ChildFailedError|CalledProcessError|ProcessExitedException|ProcessRaisedException|SignalException)\b"
    r"|\bCaught \w+ in (?:DataLoader worker|replica)\b"
)
# A scheduler says why it ended a job; whatever the job prints when it dies is a consequence.
_BY_THE_SCHEDULER = re.compile(
    r"\bDUE TO (?:TIME LIMIT|PREEMPTION|NODE FAIL)|\bTERM_(?:RUNLIMIT|PREEMPT|OWNER)\b|job killed: |"
    r"\b[Pp]reempted\b|\b[Pp]reemption \w+ (?:received|for)\b|\bJob has timed out\b|\b[Ss]pot\b"
)
_BY_A_SIGNAL = re.compile(r"\b(?:SIGTERM|Terminated)\b|\bsignal: ?15\b|\bCANCELLED\b")
_PEER_IS_GONE = re.compile(r"Connection (?:closed|reset) by peer")
_GOES_ON = re.compile(
    r"\b(?:skipping|retry(?:ing)?|recover(?:ed|ing)|continuing|trying again|will try|falling back|"
    r"(?<!try )(?<!consider )(?:reduc|lower|halv|decreas)ing (?:the )?(?:\w+ )?batch)\b",
    re.IGNORECASE,
)
_JOB_NUMBER = re.compile(r"(?<!\d)[1-9]\d{3,}")  # the number of a rank has fewer digits

_TOTAL_STEPS = (
    *(
        "total_iter",
        "total_iters",
        "max_iter",
        "max_iters",
        "max_steps",
        "total_steps",
        "train_steps",
        "n_iters",
    ),
    *("num_train_steps", "num_steps", "num_iterations", "num_iters", "iterations", "max_train_steps"),
)
# What a plain `steps: 1200` counts is not said; that the log ends there says it.
_COUNTS_STEPS = frozenset({"steps", "iters", "iter", "iterations", "updates", "batches", "timesteps"})
_COUNTS_OTHERS = frozenset(
    [
        *(
            "warmup",
            "warm",
            "decay",
            "every",
            "interval",
            "freq",
            "frequency",
            "period",
            "per",
            "eval",
            "val",
        ),
        *("log", "logging", "save", "print", "accumulation", "accumulate", "diffusion", "sampling", "start"),
    ]
)
_TOTAL_EPOCHS = ("epochs", "num_epochs", "max_epochs", "num_train_epochs", "n_epochs", "total_epochs")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, in a word and in a sentence, with the line that says so.

    `how` is finished, out of memory, killed, collective timeout, data worker died, disk full, device assert,
    crashed, traceback, stopped by user, stopped by Guard, still running or unknown.
    """

    how: str
    why: str
    where: Where | None = None


def measure(run: Run) -> Ending:
    """Say how the run ended."""
    return _measured(run, time.time())


def _measured(run: Run, now: float) -> Ending:
    fatal = fatal_events(run)
    if fatal:
        return Ending(str(fatal[0].kind), fatal[0].message, Where(fatal[0].file, line=fatal[0].line))
    said = _said_finished(run)
    if said is not None:
        return Ending(FINISHED, said.message, Where(said.file, line=said.line))
    return _by_length(run) or _by_silence(run, now)


def fatal_events(run: Run) -> tuple[Event, ...]:
    """The event that ended the run, then those printed with it; none where the run was not cut short."""
    superseded = _superseded(run.logs)
    final = [
        event
        for log in run.logs
        if log.file not in superseded
        for event in _final(log)
        if event.kind in _FATAL and not _was_handled(event)
    ]
    last_log = _last(run.logs)
    if last_log is not None and len(run.logs) > 1:
        # An earlier log that was continued by a later one did not end the run.
        final = [event for event in final if event.file == last_log.file or not _continued(event, run)]
    if not final:
        return ()
    together = [event for event in final if _in_one_breath(final[0], event)]
    if all(_how_far_from_the_reason(event, together) >= CONSEQUENCE for event in together):
        # Another process may have printed a step between the reason and its consequence.
        together = [*_just_before(final[0], run), *together]
    reason = min(together, key=lambda event: _how_far_from_the_reason(event, together))
    return (reason, *(event for event in together if event is not reason))


def finished_before(run: Run) -> bool:
    """Whether the training was over, as the log says or as its length shows, whatever happened after it."""
    ends = any(event.kind is EventKind.FINISHED for log in run.logs for event in _of_the_last_start(log))
    return ends or _by_length(run) is not None


def _was_handled(event: Event) -> bool:
    """Whether a line says that the program goes on. What a traceback says is no longer the program's plan."""
    return not event.frames and _GOES_ON.search(event.message) is not None


def _just_before(consequence: Event, run: Run) -> Iterator[Event]:
    for log in run.logs:
        for event in log.events if log.file == consequence.file else ():
            near = consequence.line - SAME_BREATH <= event.line < consequence.line
            if near and event.kind in _FATAL and not _was_handled(event):
                yield event


def _in_one_breath(first: Event, event: Event) -> bool:
    # What a scheduler writes may be in a file of its own.
    return event.file != first.file or event.line - first.line <= SAME_BREATH


def _how_far_from_the_reason(event: Event, together: Sequence[Event]) -> int:
    """The reason itself before what may be only its consequence; of equals, the first one printed."""
    if event.kind is EventKind.KILLED:
        if _BY_THE_SCHEDULER.search(event.message):
            return 0
        # A polite signal comes before what the program says about it; after an error, somebody cleaned up.
        return 1 if event is together[0] and _BY_A_SIGNAL.search(event.message) else CONSEQUENCE + 1
    if _WRAPPED.search(event.message):
        return CONSEQUENCE + 2
    if _PEER_IS_GONE.search(event.message):
        return CONSEQUENCE
    return 3 if event.kind in (EventKind.TRACEBACK, EventKind.CRASHED) else 2


def _final(log: Log) -> Iterator[Event]:
    """The events behind which the log has no further step, restart or regular end."""
    last_step = max((int(series.steps[-1]) for series in log.series if len(series)), default=None)
    last_line = max((series.lines[1] for series in log.series if series.lines), default=0)
    events = list(log.events)
    turned = (EventKind.FINISHED, EventKind.STARTED, EventKind.RESUMED)
    cut = max((number for number, event in enumerate(events) if event.kind in turned), default=-1)
    for event in events[cut + 1 :]:
        trained_on = event.step is not None and last_step is not None and last_step > event.step
        if not trained_on and not 0 < event.line < last_line:
            yield event


def _of_the_last_start(log: Log) -> Iterator[Event]:
    """The events since the training was last begun or resumed, but for those that training went on after."""
    last_step = max((int(series.steps[-1]) for series in log.series if len(series)), default=None)
    for event in reversed(log.events):
        if event.kind in (EventKind.STARTED, EventKind.RESUMED):
            return
        if event.step is None or last_step is None or last_step <= event.step:
            yield event


def _superseded(logs: Sequence[Log]) -> frozenset[str]:
    """The outputs of earlier jobs: files named alike but for the number of the job."""
    newest: dict[str, tuple[list[int], str]] = {}
    for log in logs:
        numbers = [int(number) for number in _JOB_NUMBER.findall(log.file)]
        shape = _JOB_NUMBER.sub("#", log.file)
        if numbers and (shape not in newest or newest[shape][0] < numbers):
            newest[shape] = (numbers, log.file)
    kept = {file for _, file in newest.values()}
    numbered = {log.file for log in logs if _JOB_NUMBER.search(log.file)}
    return frozenset(numbered - kept)


def _continued(event: Event, run: Run) -> bool:
    """Whether steps after an event were logged in another file."""
    steps = run.steps
    return event.step is not None and steps is not None and steps[1] > event.step


def _said_finished(run: Run) -> Event | None:
    log = _last(run.logs)
    logs = [log] if log is not None else []
    logs += [other for other in run.logs if other is not log]
    for one in logs:
        last_step = max((int(series.steps[-1]) for series in one.series if len(series)), default=None)
        for event in reversed(one.events):
            if event.kind in (EventKind.STARTED, EventKind.RESUMED):
                break
            went_on = event.step is not None and last_step is not None and last_step > event.step
            if event.kind is EventKind.FINISHED and not went_on:
                return event
    return None


def _last(logs: Sequence[Log]) -> Log | None:
    """The log that was written last."""
    spoken = [log for log in logs if log.events or log.series]
    return max(spoken, key=lambda log: (log.started or 0.0, _last_step(log)), default=None)


def _last_step(log: Log) -> int:
    return max((int(series.steps[-1]) for series in log.series if len(series)), default=-1)


def _by_length(run: Run) -> Ending | None:
    """A run that took all its steps, or counted all its epochs, has finished."""
    steps, total = run.steps, _total_steps(run)
    if steps is not None and total is not None:
        cadence = max(
            (s.cadence() for s in run.series.values() if len(s) and s.steps[-1] == steps[1]), default=0
        )
        if steps[1] + cadence >= total:
            return Ending(FINISHED, f"the log reaches step {steps[1]:,} of {total:,}")
        return None
    met = _met_exactly(run)
    if met is not None:
        return met
    epochs, planned = _epochs(run), _planned(run, _TOTAL_EPOCHS)
    if epochs is None or planned is None or not len(epochs):
        return None
    first, last = epochs.values[0], epochs.values[-1]
    # A count that begins at 0 ends one short of the number of epochs.
    if last >= planned[0] or (first == 0 and last == planned[0] - 1 and float(last).is_integer()):
        return Ending(FINISHED, f"the log reaches epoch {last:g} of {planned[0]:,}", planned[1].where)
    return None


def _epochs(run: Run) -> Series | None:
    """The count of epochs, where one is logged or where everything is counted in them."""
    counted = run.series.get("epoch")
    if counted is not None:
        return counted
    longest = max(run.series.values(), key=lambda one: one.steps[-1] if len(one) else -1, default=None)
    if longest is None or any(series.axis != "epoch" for series in run.series.values()):
        return None
    return replace(longest, values=longest.steps.astype(float))


def _met_exactly(run: Run) -> Ending | None:
    """A log whose last step is the very number that a setting counts steps with."""
    last = run.steps[1] if run.steps is not None else 0
    for setting in run.recipe.settings if run.recipe else ():
        told = set(re.split(r"[_\-]+", setting.leaf.lower()))
        if not told & _COUNTS_STEPS or told & _COUNTS_OTHERS:
            continue
        if _number(setting.value) in (last, last + 1) and last >= LEAST_STEPS:
            return Ending(FINISHED, f"the log reaches step {last:,}, as {setting.leaf} says", setting.where)
    return None


def _by_silence(run: Run, now: float) -> Ending:
    """A log that ends without a word: perhaps it is still being written."""
    log = _last(run.logs)
    if log is None:
        return Ending(UNKNOWN, "there is no log that could say how the run ended")
    written = max((one.last_written for one in run.logs if one.last_written is not None), default=None)
    if written is not None and 0 <= now - written <= STILL_WARM:
        return Ending(STILL_RUNNING, f"the log was written {_ago(now - written)} ago", Where(log.file))
    steps, total = run.steps, _total_steps(run)
    if steps is not None and total is not None:
        return Ending(
            UNKNOWN, f"the log stops at step {steps[1]:,} of {total:,} without a word", Where(log.file)
        )
    return Ending(UNKNOWN, "nothing in the logs says how the run ended", Where(log.file))


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _total_steps(run: Run) -> int | None:
    """The planned number of steps: as the log announces it, else as the settings say."""
    announced = [log.total_steps for log in run.logs if log.total_steps]
    if announced:
        return max(announced)
    planned = _planned(run, _TOTAL_STEPS)
    counts_steps = any(len(series) and series.axis == "step" for series in run.series.values())
    return planned[0] if planned is not None and counts_steps else None


def _planned(run: Run, names: Sequence[str]) -> tuple[int, Setting] | None:
    """The largest positive number that settings of these names hold."""
    found = []
    for setting in run.recipe.settings if run.recipe else ():
        number = _number(setting.value) if setting.leaf.lower() in names else None
        if number is not None and number > 0:
            found.append((number, setting))
    return max(found, key=lambda pair: pair[0], default=None)


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(float(value))
    except (ValueError, OverflowError):
        return None
