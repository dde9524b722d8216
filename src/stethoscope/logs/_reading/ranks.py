"""Logs to which several processes of one run print, each line behind the number of its process.

[default0]:step 10 loss 1.2879      torchrun --tee
[rank1]: step 10 loss 1.2638        PyTorch
0: step 10 loss 1.2879              srun --label
[1,0]<stdout>:step 10 loss 1.2879   mpirun --tag-output
gpu1 | step 10 loss 1.2638

What the numbers say apart, the lines say alike: one process is read. Of the others, only lines that it does
not print as well are kept, such as the traceback of the one that failed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from stethoscope.logs._reading.head import Head
from stethoscope.run import Log

if TYPE_CHECKING:
    from stethoscope.logs._reading.stream import Reading

HALF = 0.5
FEWEST_LINES = 4
MOST_SHAPES = 20_000  # kinds of line that are remembered
HIGHEST_BARE = 4_096  # a bare number before a colon that is higher counts something else
FEWEST_RETURNS = 3  # times that a bare number falls: an epoch before a colon only grows

_WORD = rb"(?:default|(?:local_|global_)?rank|gpu|cuda|device|proc|process|worker|task)"
_SAID = re.compile(
    rb"(?:[\[(]"
    + _WORD
    + rb"[\s=:_#-]{0,2}(\d{1,5})[\])]|"
    + _WORD
    + rb"[\s=:_#-]{0,2}(\d{1,5})(?=\s{0,8}[:|])"
    rb"|\[\d{1,9},(\d{1,5})\]<std(?:out|err)>)\s{0,8}[:|]?[ \t]?",
    re.IGNORECASE,
)
_BARE = re.compile(rb"[ ]{0,4}(\d{1,4}):[ \t]")
_NUMBER = re.compile(rb"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b)", re.IGNORECASE)


@dataclass(slots=True)
class Ranks:
    """How the lines of a log say whose they are, and whose are read."""

    prefix: re.Pattern[bytes]
    kept: int
    shapes: set[bytes] = field(default_factory=set)  # of the lines that the kept one prints
    met: set[int] = field(default_factory=set)
    dropped: int = 0

    def cleaned(self, text: bytes) -> bytes:
        """Lines without their prefixes; those that repeat what the kept process prints are left empty."""
        lines = text.split(b"\n")
        parted = [self._parted(line) for line in lines]
        for rank, line in parted:
            if rank == self.kept and len(self.shapes) < MOST_SHAPES:
                self.shapes.add(_shape(line))
        return b"\n".join([self._kept(rank, line) for rank, line in parted])

    def _parted(self, line: bytes) -> tuple[int | None, bytes]:
        found = self.prefix.match(line)
        return (_number(found), line[found.end() :]) if found else (None, line)

    def _kept(self, rank: int | None, line: bytes) -> bytes:
        if rank is None:
            return line
        self.met.add(rank)
        if rank == self.kept or _shape(line) not in self.shapes:
            return line
        self.dropped += bool(line.strip())
        return b""


@dataclass(slots=True)
class OneOfSeveral:
    """A log of several processes being read as the log of one."""

    reading: Reading
    ranks: Ranks
    waiting: bytes = b""

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        end = len(data) if last else data.rfind(b"\n") + 1
        if end:
            text = self.waiting + self.ranks.cleaned(data[:end])
            self.waiting = text[self.reading.take(text, last) :]
        return end

    def log(self) -> Log:
        """What was read so far."""
        log = self.reading.log()
        if not self.ranks.dropped:
            return log
        ranks = self.ranks
        note = (
            f"{len(ranks.met)} ranks print into this log: the lines of rank {ranks.kept} were read, "
            f"{ranks.dropped:,} of the others that say the same passed over"
        )
        return replace(log, notes=(*log.notes, note))


def ranks_in(head: Head) -> Ranks | None:
    """How a log says whose its lines are; None where it does not."""
    if head.binary or head.encoding == "utf-16" or not _may_say(head.start):
        return None
    lines = [line for line in (head.start + b"\n" + head.end).split(b"\n") if line.strip()]
    for prefix in (_SAID, _BARE):
        found = [match for line in lines if (match := prefix.match(line))]
        if len(found) < FEWEST_LINES or len(found) < HALF * len(lines):
            continue
        said = [_number(match) for match in found]
        if prefix is _BARE and not _are_ranks(said):
            continue
        ranks = Ranks(prefix, _telling(found, said))
        ranks.cleaned(b"\n".join(match.string for match in found))
        return replace(ranks, met=set(), dropped=0)
    return None


def without_ranks(head: Head) -> Head:
    """The head of a log as if one process had printed it."""
    ranks = ranks_in(head)
    if ranks is None:
        return head
    return replace(head, start=_full(ranks.cleaned(head.start)), end=_full(ranks.cleaned(head.end)))


def one_of(reading: Reading, head: Head) -> Reading:
    """A reading that is given the lines of one process, where several print to the log."""
    ranks = ranks_in(head)
    return reading if ranks is None else OneOfSeveral(reading, ranks)


def _may_say(start: bytes) -> bool:
    """Whether any of the first lines begins like a prefix; nearly no other file has one that does."""
    return any(_SAID.match(line) or _BARE.match(line) for line in start[:8192].split(b"\n"))


def _full(text: bytes) -> bytes:
    """The text without the lines that were left empty: a format is recognised by what is there."""
    return re.sub(rb"\n{2,}", b"\n", text)


def _number(found: re.Match[bytes]) -> int:
    return int(next(group for group in found.groups() if group is not None))


def _are_ranks(said: list[int]) -> bool:
    """Whether bare numbers are ranks: all from zero up, and in no order."""
    present = {*said}
    if max(present) > HIGHEST_BARE or len(present) < 2 or present != {*range(max(present) + 1)}:
        return False
    return sum(after < before for before, after in pairwise(said)) >= FEWEST_RETURNS


def _telling(found: list[re.Match[bytes]], said: list[int]) -> int:
    """The lowest of those that print about as many lines with numbers as any."""
    counts = Counter(
        rank for rank, match in zip(said, found, strict=True) if _NUMBER.search(match.string, match.end())
    )
    most = max(counts.values(), default=0)
    return min((rank for rank, count in counts.items() if count >= HALF * most), default=min(said))


def _shape(line: bytes) -> bytes:
    """What a line says but for its numbers and how they are set."""
    return b" ".join(_NUMBER.sub(b"0", line).split())
