"""The folder that is served: what lies below it has a number that says nothing, and nothing else has one.

An address never holds a path. It holds the hash of one, which is looked up among those that the scout has
found; and where a file is about to be opened, it still has to lie below the folder, links followed.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from stethoscope.errors import NothingToRead

LONGEST_ID = 20
HERE = "."


@dataclass(frozen=True, slots=True)
class House:
    """A folder, links followed, and the name to show for it."""

    root: Path
    shown: str

    def path(self, inside: str) -> Path:
        """The path of something below the folder; raises NothingToRead where it is gone or leads out."""
        path = Path(self.shown) if inside == HERE else Path(self.shown, inside)
        try:
            whole = os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            raise NothingToRead(f"{inside} is not there any more.") from None
        if not self.holds(whole):
            raise NothingToRead(f"{inside} leads out of {self.shown}; it is not read.")
        return path

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path, links followed, is the folder or lies below it."""
        whole = os.path.realpath(path)
        return whole == str(self.root) or whole.startswith(os.path.join(self.root, ""))


def house_at(folder: str) -> House:
    """The folder to serve; raises NothingToRead where it is none."""
    try:
        root = Path(os.path.realpath(folder, strict=True))
        if root.is_dir():
            os.listdir(root)
            return House(root, folder)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise NothingToRead(f"{folder}: {reason.lower()}.") from None
    raise NothingToRead(f"{folder} is not a folder; name the one that your runs lie in.")


def number_of(kind: str, inside: str) -> str:
    """The number of a run, a document or a trial: the same at every start, and no path."""
    hashed = hashlib.sha256(f"{kind}\0{inside}".encode("utf-8", errors="surrogateescape"))
    return hashed.hexdigest()[:LONGEST_ID]
