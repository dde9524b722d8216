"""A file replaced by a changed version of itself, whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from stethoscope.errors import UnwritableFile

NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP})  # of disks that have none
WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def replace_content(path: Path, before: bytes, after: bytes, shown: str) -> None:
    """Write `after` in the place of `before`; raises UnwritableFile, and then the file is as it was.

    The rights and the owner stay. A file that is read-only, or that somebody changed since it was read, is
    left alone.
    """
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
        if not status.st_mode & WRITABLE or not os.access(target, os.W_OK):
            raise UnwritableFile(f"{shown} is read-only.")
        part = _written_beside(target, after)
        try:
            os.chmod(part, stat.S_IMODE(status.st_mode))
            with suppress(OSError):
                os.chown(part, status.st_uid, status.st_gid)
            # Looked at last, so that little time is left for somebody to write in between.
            if Path(target).read_bytes() != before:
                raise UnwritableFile(f"{shown} changed since it was read.")
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{shown} could not be written: {reason}.") from problem


def create(path: Path, content: bytes, shown: str) -> None:
    """Write a file that is not there; raises UnwritableFile, and then there is none."""
    target = os.path.realpath(path)
    try:
        part = _written_beside(target, content)
        try:
            os.chmod(part, 0o666 & ~_umask())
            _name(part, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
    except FileExistsError:
        raise UnwritableFile(f"{shown} is there since it was looked for.") from None
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{shown} could not be written: {reason}.") from problem


def _name(part: str, target: str) -> None:
    """Give a file its name; unlike a renaming, this fails where somebody has put another one there since."""
    try:
        os.link(part, target)
    except OSError as problem:
        if problem.errno not in NO_LINKS or os.path.lexists(target):
            raise
        os.rename(part, target)
        return
    try:
        os.unlink(part)
    except OSError:
        os.unlink(target)
        raise


def remove(path: Path, before: bytes, shown: str) -> None:
    """Take away a file that holds `before`; raises UnwritableFile, and then it is as it was."""
    target = os.path.realpath(path)
    try:
        if Path(target).read_bytes() != before:
            raise UnwritableFile(f"{shown} changed since it was read.")
        os.unlink(target)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{shown} could not be removed: {reason}.") from problem


def _umask() -> int:
    """What this process takes away from the rights of new files; there is no way but to set it to ask."""
    known = os.umask(0o077)
    os.umask(known)
    return known


def _written_beside(target: str, content: bytes) -> str:
    """The content in a file of its own, in the same folder, so that it can take the other's place at once."""
    handle, part = tempfile.mkstemp(prefix=".stethoscope-", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    return part
