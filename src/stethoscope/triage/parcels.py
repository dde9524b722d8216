"""The files of a run, packed for a machine that does not see this disk, and laid out there as they lie here.

What a diagnosis reads is sent: logs, settings, source, the project around. Weights, pictures and data keep
their names, sizes and times, and are hollow there.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from stethoscope.errors import StethoscopeError
from stethoscope.program.in_use import is_training_code
from stethoscope.recipe.in_use import is_launcher, is_record, looks_like_settings
from stethoscope.run.folder import Entry, entry_of, walk
from stethoscope.run.place import BESIDE
from stethoscope.run.proof import RESULT
from stethoscope.run.repository import MARKERS, MOST_LEVELS, is_project, repository_of
from stethoscope.triage.examining import Patient

MOST_BYTES = 256 << 20  # of one run; a log of ten million lines has about as many
QUICKLY = 1  # how well it is compressed: a network is faster than a better level
# Nothing that a diagnosis opens.
HOLLOW = re.compile(
    r"\.(?:pt|pth|ckpt|safetensors|bin|onnx|h5|hdf5|npy|npz|lmdb|mdb|so|whl|png|jpe?g|gif|bmp|webp|tiff?|pdf|mp4|avi|wav|flac"
    r"|mp3)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file by its whole path; without content it is only there. A folder has no size."""

    path: str
    size: int | None
    changed: float
    content: bytes | None = None


Parcel = tuple[PackedFile, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stamp:
    """What the files of a run look like: when each was last changed, and the project that it lies in."""

    changed: Mapping[str, float]
    project: str | None


def stamp_of(patient: Patient) -> Stamp:
    """What the files of a run look like here."""
    return Stamp({_path(entry): entry.changed for entry in _entries(patient)}, project_of(patient))


def is_seen(patient: Patient, stamp: Stamp) -> bool:
    """Whether this machine has the same files, or those of a moment later: a run may go on."""
    here = stamp_of(patient)
    if here.project != stamp.project or not stamp.changed:
        return False
    return all(here.changed.get(path, -math.inf) >= changed for path, changed in stamp.changed.items())


def packed_run(patient: Patient) -> Parcel:
    """The files of a run; raises StethoscopeError where they are too much to send, or cannot be read."""
    return _packed({_path(entry): entry for entry in _entries(patient)}.values(), patient.path)


def project_of(patient: Patient) -> str | None:
    """The root of the project that a run lies in, where it has one that is not its own."""
    found = _project_of(patient)
    return None if found is None else str(found)


@lru_cache(maxsize=8)
def packed_project(root: str) -> Parcel:
    """The settings, source and pins of a project, and what shows that it is one."""
    folder = Path(root)
    files = _packed([entry for entry in walk(folder, root).files if _tells(entry, folder)], root)
    markers = [PackedFile(str(path), None, 0.0) for marker in MARKERS if (path := folder / marker).is_dir()]
    return (*files, *markers)


@contextmanager
def laid_out(parcels: Iterable[Parcel], home: str) -> Iterator[str]:
    """The files below a temporary root, which is given, with the same folder to work in as at home."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="stethoscope-") as temporary:
        # Deep enough that nothing above it can be taken for the project of a run.
        root = os.path.join(os.path.realpath(temporary), *(["run"] * MOST_LEVELS))
        os.makedirs(below(root, home), exist_ok=True)
        for parcel in parcels:
            for file in parcel:
                _lay(file, below(root, file.path))
        os.chdir(below(root, home))
        try:
            yield root
        finally:
            os.chdir(before)


def below(root: str, path: str) -> str:
    """Where a path lies under another root; one that is not whole is left as it is."""
    return os.path.join(root, os.path.relpath(path, "/")) if os.path.isabs(path) else path


def _path(entry: Entry) -> str:
    return os.path.abspath(entry.path)


def _root(patient: Patient) -> Path:
    if patient.files:
        return Path(os.path.commonpath([os.path.dirname(os.path.abspath(one)) for one in patient.files]))
    path = Path(os.path.abspath(patient.path))
    return path if path.is_dir() else path.parent


def _project_of(patient: Patient) -> Path | None:
    root = _root(patient)
    return None if is_project(root) else repository_of(root)


def _entries(patient: Patient) -> Iterator[Entry]:
    """Whatever a diagnosis of the run looks at in its own folder."""
    root = _root(patient)
    named = patient.files or ((patient.path,) if not Path(patient.path).is_dir() else ())
    homes: Sequence[Path] = [root]
    if named:
        homes = list(dict.fromkeys(Path(os.path.abspath(one)).parent for one in named))
    for home in homes:
        yield from (walk(home, str(home), max_depth=BESIDE) if named else walk(home, str(home))).files
    for file in (*map(Path, named), root / RESULT, *(root / marker for marker in MARKERS)):
        if file.is_file():
            yield entry_of(file, str(file))


def _tells(entry: Entry, root: Path) -> bool:
    """Whether a file of the project around a run may tell of it."""
    if entry.path.parent == root or is_training_code(entry, root):
        return True
    return not is_record(entry, root) and (looks_like_settings(entry) or is_launcher(entry))


def _packed(entries: Iterable[Entry], shown: str) -> Parcel:
    files, left = [], MOST_BYTES
    for entry in entries:
        content = None
        if not HOLLOW.search(entry.name):
            left -= entry.size
            if left < 0:
                raise StethoscopeError(
                    f"{shown} holds more than the {MOST_BYTES >> 20} MB that are sent to a node; let "
                    "the nodes see it on a disk that all share, or examine it without --ray"
                )
            content = _content(entry)
        files.append(PackedFile(_path(entry), entry.size, entry.changed, content))
    return tuple(files)


def _content(entry: Entry) -> bytes:
    try:
        return zlib.compress(entry.path.read_bytes(), QUICKLY)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise StethoscopeError(f"{entry.file} could not be read: {reason}") from None


def _lay(file: PackedFile, path: str) -> None:
    if file.size is None:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        if file.content is None:
            stream.truncate(file.size)
        else:
            stream.write(zlib.decompress(file.content))
    os.utime(path, (file.changed, file.changed))
