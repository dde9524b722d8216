"""A process that runs one command and leaves none of its processes behind.

It is run by itself, with the standard library alone, and speaks JSON lines: what to run on standard input,
what became of it on standard output. It ends everything the command started when the command ends, takes too
long, uses too much memory or prints without end, and when standard input closes: that is how it learns that
whoever started it is gone. Processes that leave the command's group or session are found, too: as their
subreaper, this process inherits what their parents leave.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

POLL_SECONDS = 0.02
MEMORY_SECONDS = 1.0  # between two looks at the memory, which cost a millisecond for each process
GRACE_SECONDS = 5.0  # from the request to end until the end
MOST_OUTPUT = 256 << 20  # bytes of output; a log that long tells nothing more
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

COULD_NOT_START = "could not start"
TIMED_OUT = "timed out"
OVER_MEMORY = "over memory"
OVER_OUTPUT = "over output"
CANCELLED = "cancelled"
ENDED = "ended"


@dataclass(frozen=True)
class Asked:
    """What to run, where, with what, and where its output goes; None is no limit."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    output: str
    seconds: float | None = None
    memory: int | None = None  # bytes, of all its processes together


def main() -> None:
    """Read what to run, run it, write what became of it."""
    asked = Asked(**json.loads(sys.stdin.readline()))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: os.close(0))
    told = _supervised(asked)
    with suppress(OSError):
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _supervised(asked: Asked) -> dict[str, object]:
    began = time.monotonic()
    try:
        child = _started(asked)
    except OSError as problem:
        said = f"{problem.filename or asked.command[0]}: {problem.strerror}"
        return {"why": COULD_NOT_START, "status": None, "said": said, "seconds": 0.0, "peak": 0}
    why, peak = _watched(child, asked, began)
    _end_all(child, grace=0.0 if why in (ENDED, CANCELLED) else GRACE_SECONDS)
    status = child.wait()
    return {"why": why, "status": status, "said": "", "seconds": time.monotonic() - began, "peak": peak}


def _started(asked: Asked) -> subprocess.Popen[bytes]:
    with open(asked.output, "wb") as output:
        return subprocess.Popen(
            asked.command,
            cwd=asked.folder,
            env=asked.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _watched(child: subprocess.Popen[bytes], asked: Asked, began: float) -> tuple[str, int]:
    """Wait for the end, and say which it was; the most memory seen, in bytes, comes with it."""
    peak = 0
    looked = 0.0
    while child.poll() is None:
        now = time.monotonic()
        if asked.seconds is not None and now - began > asked.seconds:
            return TIMED_OUT, peak
        if now - looked > MEMORY_SECONDS:
            looked = now
            peak = max(peak, used := _memory())
            if asked.memory is not None and used > asked.memory:
                return OVER_MEMORY, peak
            if os.path.getsize(asked.output) > MOST_OUTPUT:
                return OVER_OUTPUT, peak
        if _told_to_stop():
            return CANCELLED, peak
    return ENDED, peak


def _told_to_stop() -> bool:
    """Whether standard input closed; waits a moment for it."""
    try:
        ready, _, _ = select.select([0], [], [], POLL_SECONDS)
        return bool(ready) and os.read(0, 1 << 12) == b""
    except (OSError, ValueError):
        return True


def _memory() -> int:
    """The memory of all processes below this one; shared pages are counted once, where the system says so."""
    return sum(_memory_of(process) for process in _descendants())


def _memory_of(process: int) -> int:
    for file, mark in ((f"/proc/{process}/smaps_rollup", "Pss:"), (f"/proc/{process}/status", "VmRSS:")):
        with suppress(OSError, ValueError), open(file, encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith(mark):
                    return int(line.split()[1]) << 10
    return 0


def _end_all(child: subprocess.Popen[bytes], grace: float) -> None:
    """End every process below this one, asking first where there is time."""
    if grace:
        _signal(child, signal.SIGTERM)
        waited = time.monotonic() + grace
        while _left(child) and time.monotonic() < waited:
            time.sleep(POLL_SECONDS)
    # What is being ended may start more, so it is looked for until nothing is left.
    waited = time.monotonic() + GRACE_SECONDS
    while _left(child) and time.monotonic() < waited:
        _signal(child, signal.SIGKILL)
        time.sleep(POLL_SECONDS / 10)


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(OSError):
        os.killpg(child.pid, number)
    for process in _descendants():
        with suppress(OSError):
            os.kill(process, number)


def _left(child: subprocess.Popen[bytes]) -> bool:
    """Whether anything still runs; lets go of ended processes that nobody else waits for."""
    child.poll()
    for process in _descendants(ended=True):
        # The command itself is waited for by its own handle, which keeps its status.
        if process != child.pid:
            with suppress(OSError):
                os.waitpid(process, os.WNOHANG)
    return child.returncode is None or bool(_descendants())


def _descendants(ended: bool = False) -> list[int]:
    """The processes below this one, running or, if asked, ended and not yet let go."""
    parents: dict[int, tuple[int, bool]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stream:
                    fields = stream.read().rpartition(")")[2].split()
                parents[int(name)] = int(fields[1]), fields[0] in "ZX"
    below = {os.getpid()}
    while more := {one for one, (parent, _) in parents.items() if parent in below} - below:
        below |= more
    return [one for one in below - {os.getpid()} if parents[one][1] == ended]


def _die_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _prctl(option: int, value: int) -> None:
    # Linux alone has it; elsewhere the command's own processes are still ended.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
