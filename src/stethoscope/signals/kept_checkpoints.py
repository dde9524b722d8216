"""The checkpoints that a run kept, and which of them cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stethoscope.run import Checkpoint, Run
from stethoscope.signals.missing import Missing

ZIPPED = b"PK\x03\x04"  # what torch.save writes
END_OF_ZIP = b"PK\x05\x06"
TAIL_BYTES = 66_000  # within which the end of an archive stands, its longest comment included
ENDINGS = (".pt", ".pth", ".ckpt", ".bin", ".tar", ".state")


@dataclass(frozen=True, slots=True)
class KeptCheckpoints:
    """The checkpoints on disk; `damaged` are those that cannot be loaded, each with the reason."""

    checkpoints: tuple[Checkpoint, ...]
    damaged: tuple[tuple[Checkpoint, str], ...]


def measure(run: Run) -> KeptCheckpoints | Missing:
    """Look at the size, the head and the tail of every checkpoint; nothing is unpickled."""
    if not run.checkpoints:
        return Missing(
            "no checkpoint was found with the run", "torch.save(state, path) every few hundred steps"
        )
    return KeptCheckpoints(run.checkpoints, tuple(_damaged(run.checkpoints)))


def _damaged(checkpoints: tuple[Checkpoint, ...]) -> Iterator[tuple[Checkpoint, str]]:
    for one in checkpoints:
        if not one.readable:
            yield one, one.note
        elif one.file.endswith(ENDINGS) and _is_torn(Path(one.file)):
            yield one, "cut off: the archive has a beginning and no end"


def _is_torn(path: Path) -> bool:
    """Whether a file begins as an archive of torch does and lacks the table at its end."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(ZIPPED)) != ZIPPED:
                return False
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - TAIL_BYTES))
            return END_OF_ZIP not in stream.read()
    except OSError:
        return False
