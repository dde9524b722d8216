"""Databases of experiment trackers: made from the SQL that makes them, and damaged."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

MAGIC = 16  # bytes by which a file is known as a database; damaged, it would be refused at once


@cache
def database_of(script: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    data = connection.serialize()
    connection.close()
    return data


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that were changed, and how much of the second half is left."""

    cut: float
    flips: list[tuple[float, int]]

    def done_to(self, database: bytes) -> bytes:
        data = bytearray(database)
        for where, byte in self.flips:
            data[MAGIC + int(where * (len(data) - MAGIC - 1))] ^= byte
        return bytes(data[: int((0.5 + self.cut) * len(data))])


damages = st.builds(
    Damage,
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=20),
)
