"""What a file is that no reader takes, in words for the user."""

from __future__ import annotations

from stethoscope.logs._reading.head import Head

NOT_READ = "not read by this version"

_MAGIC = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstandard archive: unpack it first"),
    (b"PAR1", "a Parquet table, but none of a training log by its columns"),
    (b"SQLite format 3\x00", "a SQLite database of no tracker known here, or a damaged one"),
    (b"\x89HDF", f"HDF5 file: {NOT_READ}"),
)


def other_format(head: Head) -> str:
    """Why this file is not read as a log."""
    if head.size == 0:
        return "empty"
    if head.packing and not head.start:
        return f"an empty or damaged {head.packing} archive"
    if "tfevents" in head.path.name or b"brain.Event:" in head.start[:64]:
        return "TensorBoard event file without a whole record"
    for magic, words in _MAGIC:
        if head.start.startswith(magic):
            return words
    if head.binary:
        return "binary, not a text log"
    return "a document, settings or source, by its name" if head.prose else "not a log format known here"
