"""What a job printed, where nothing in it is a log: kept for what it says about the run's end.

slurmstepd: error: *** JOB 99 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""

from __future__ import annotations

import re

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.clock import stamp_in_name
from stethoscope.logs._reading.events import Scanner
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.plain import plain
from stethoscope.logs._text.lines import numbered_lines
from stethoscope.run import EventKind, Log

FORMAT = "console output"

# Only files that are output by their name: a document may quote a traceback.
_OUTPUT = re.compile(
    r"(?:std(?:out|err)|nohup|slurm|console|output|error).*|.*\.(?:out|err|stdout|stderr)|[\w.-]+\.[eo]\d+"
)
_ENDS = frozenset(
    {
        *(
            EventKind.OUT_OF_MEMORY,
            EventKind.KILLED,
            EventKind.COLLECTIVE_TIMEOUT,
            EventKind.DATA_WORKER_DIED,
        ),
        *(EventKind.DISK_FULL, EventKind.TRACEBACK, EventKind.FINISHED),
        *(EventKind.STOPPED_BY_USER, EventKind.STOPPED_BY_GUARD),
        *(EventKind.DEVICE_ASSERT, EventKind.CRASHED),
    }
)


def recognise(head: Head) -> float:
    """A job's output, by name, that says how the job ended."""
    if head.binary or head.prose or not _OUTPUT.fullmatch(head.path.name.lower()):
        return 0.0
    scanner = Scanner(head.file)
    for number, line in enumerate(head.ends.replace("\r", "\n").split("\n"), 1):
        scanner.see(number, plain(line), None)
    return 0.35 if any(event.kind in _ENDS for event in scanner.events()) else 0.0


def read(head: Head) -> Log:
    """The events, and no series."""
    scanner = Scanner(head.file)
    for number, line in numbered_lines(head):
        scanner.see(number, line, None)
    if not scanner.found:
        raise UnreadableFile(f"{head.file}: output that says nothing about a run")
    return Log(
        head.file,
        FORMAT,
        events=scanner.events(),
        started=stamp_in_name(head.path.name),
        last_written=head.changed,
        notes=("no values in it; kept for what it says about the run",),
    )
