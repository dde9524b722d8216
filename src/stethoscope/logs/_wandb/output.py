"""What a W&B run printed: searched for events, and kept as a text while the run has no history."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.events import Scanner
from stethoscope.logs._reading.plain import plain
from stethoscope.run import Event, Log

MOST_KEPT = 128 << 20  # bytes of printed text that are kept to be read as a log
LONGEST_LINE = 1 << 20  # characters; a longer line is cut here


@dataclass(slots=True)
class Output:
    """Printed lines as they come, whole or in pieces, from two streams at once.

    An event carries the number of history rows before it as `-rows`, until the rows' steps are known.
    """

    scanner: Scanner
    lines: int = 0
    last_written: float | None = None
    kept: list[bytes] = field(default_factory=list)
    kept_bytes: int = 0
    keeping: bool = True
    overfull: bool = False
    _begun: dict[int, str] = field(default_factory=dict)

    def add(self, stream: int, text: str, rows: int) -> None:
        """Take in a piece of what was printed after this many rows of the history."""
        text = self._begun.pop(stream, "") + text
        *lines, rest = text.split("\n")
        if len(rest) > LONGEST_LINE:
            lines.append(rest)
            rest = ""
        for line in lines:
            self._line(line, rows)
        if rest:
            self._begun[stream] = rest

    def forget(self) -> None:
        """Keep no text any more: the run has a history."""
        self.keeping, self.kept, self.kept_bytes = False, [], 0

    def events(self) -> tuple[Event, ...]:
        """What the lines announced; lines that have not ended are looked at, too."""
        if not self._begun:
            return self.scanner.events()
        begun = self.scanner.traceback
        scanner = replace(  # a copy: the lines may still go on
            self.scanner,
            found=[*self.scanner.found],
            counts={**self.scanner.counts},
            traceback=None if begun is None else replace(begun),
        )
        for line in self._begun.values():
            scanner.see(self.lines + 1, plain(line), None)
        return scanner.events()

    def read(self, file: str) -> Log | None:
        """The text as a log of its own; None where no reader takes it."""
        from stethoscope.logs import read_log  # the readers are found through the package itself

        text = b"".join((*self.kept, *(line.encode("utf-8", "replace") for line in self._begun.values())))
        if not text.strip():
            return None
        with tempfile.TemporaryDirectory(prefix="stethoscope-") as folder:
            path = Path(folder) / "output.log"
            path.write_bytes(text)
            try:
                log = read_log(path, file)
            except UnreadableFile:
                return None
        return replace(log, last_written=None)

    def _line(self, line: str, rows: int) -> None:
        self.lines += 1
        if self.keeping:
            self._keep(line)
        shown = plain(line)
        for part in shown.split("\r") if "\r" in shown else (shown,):
            if part:
                self.scanner.see(self.lines, part, -rows)

    def _keep(self, line: str) -> None:
        if self.kept_bytes > MOST_KEPT:
            self.overfull = True
            return
        held = line.encode("utf-8", "replace") + b"\n"
        self.kept.append(held)
        self.kept_bytes += len(held)
