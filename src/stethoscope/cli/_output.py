"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from stethoscope.errors import UnwritableFile


def refuse_to_overwrite(path: str) -> None:
    """Raise UnwritableFile where a file would be lost."""
    if os.path.lexists(path) and (os.path.isdir(path) or _is_regular(path)):
        raise UnwritableFile(
            f"{path} is a folder; name a file to write."
            if os.path.isdir(path)
            else f"{path} exists; --force overwrites it."
        )


@contextmanager
def written_whole(path: str) -> Iterator[BinaryIO]:
    """A file to write; it stands at `path` once all of it is written, and not before."""
    target = os.path.realpath(path)
    if os.path.lexists(target) and not _is_regular(target):  # a pipe or a device is written to as it is
        with _explained(path), open(target, "wb") as stream:
            yield stream
        return
    with _explained(path):
        handle, part = tempfile.mkstemp(prefix=".stethoscope-", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(part, _mode(target))
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{path} could not be written: {reason}.") from problem


def _mode(target: str) -> int:
    """The rights of the file that is replaced, or those that any other file here would get."""
    with suppress(OSError):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _is_regular(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(os.stat(path).st_mode) or os.path.isdir(path)
    return True  # a link to nothing: what it names would be written
