"""Reads a log as a stream of bytes: a file of any size fits, and one that grows can be read on."""

from __future__ import annotations

from types import ModuleType
from typing import BinaryIO, Protocol

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading import progress as _progress
from stethoscope.logs._reading.head import Head, read_fully
from stethoscope.logs._reading.packed import unpacked
from stethoscope.logs._reading.ranks import one_of, without_ranks
from stethoscope.run import Log

CHUNK = 2 << 20  # bytes read at once, where a format module does not hold a CHUNK of its own
LARGEST_RECORD = 256 << 20  # bytes; no logger writes one so large, so its length is a lie


class Reading(Protocol):
    """A log being read. What `begin(head)` of a format module gives."""

    def take(self, data: bytes, last: bool) -> int:
        """Read these bytes and say how many are done with; the others come again with more behind them.

        `last` says that nothing follows: a record that is not whole is then all there will be of it.
        """
        ...

    def log(self) -> Log:
        """What was read so far; raises UnreadableFile where that is nothing."""
        ...


def read_with(reader: ModuleType, head: Head) -> Log:
    """Read a whole file with one format's reader."""
    if not hasattr(reader, "begin"):
        whole: Log = reader.read(head)
        return whole
    reading = begun(reader, head)
    with unpacked(head.path, head.packing) as stream:
        pour(stream, reading, head.file, head.size, chunk=getattr(reader, "CHUNK", CHUNK))
    return reading.log()


def begun(reader: ModuleType, head: Head) -> Reading:
    """A log that one format's reader begins to read; where several processes print to it, one of them."""
    return one_of(reader.begin(without_ranks(head)), head)


def pour(
    stream: BinaryIO, reading: Reading, file: str, size: int, last: bool = True, chunk: int = CHUNK
) -> int:
    """Hand all of a stream to a reading; gives how many bytes it is done with."""
    done, rest = 0, b""
    while True:
        fresh = read_fully(stream, chunk)
        ends = len(fresh) < chunk
        data = rest + fresh if rest else fresh
        taken = reading.take(data, last and ends) if data else 0
        done, rest = done + taken, data[taken:]
        _progress.tell(file, done, size)
        if ends:
            return done
        if len(rest) > LARGEST_RECORD:
            raise UnreadableFile(
                f"{file}: a record of more than {LARGEST_RECORD >> 20} MB after byte {done:,}"
            )
