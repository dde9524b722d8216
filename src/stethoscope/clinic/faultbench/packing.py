"""Runs of the bench as one compressed file, without what is large and says nothing."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

from stethoscope.clinic.faultbench.making import LABELS
from stethoscope.errors import StethoscopeError

KEPT = Path(__file__).parent / "kept.tar.xz"
DICTIONARY = 64 << 20  # bytes: the sources of all runs are alike, and each is found in the one before
WEIGHTS = frozenset({".pt", ".pth", ".ckpt", ".state"})  # of safetensors the header is read


def without_weights(home: Path) -> None:
    """Make the checkpoints of a run as long as they were and empty: a file with holes takes no room."""
    for file in home.rglob("*"):
        if file.suffix in WEIGHTS and file.is_file():
            size = file.stat().st_size
            os.truncate(file, 0)
            os.truncate(file, size)


def pack(folder: Path, names: Iterable[str], target: Path) -> None:
    """Put these runs and their labels into one file, the same bytes whenever it is made."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": DICTIONARY}]
    with (
        lzma.open(target, "wb", filters=filters) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(names):
            files = [path for path in sorted((folder / name).rglob("*")) if path.is_file()]
            for path in (folder / LABELS / f"{name}.json", *files):
                _add(tar, path, folder)


def unpack(source: Path, folder: Path) -> None:
    """Unpack runs into a folder."""
    if not source.exists():
        raise StethoscopeError(f"{source.name} is not here; make the runs with --remake.")
    with tarfile.open(source, mode="r:xz") as tar:
        tar.extractall(folder, filter="data")


def _add(tar: tarfile.TarFile, path: Path, folder: Path) -> None:
    entry = tarfile.TarInfo(str(path.relative_to(folder)))
    entry.size = path.stat().st_size
    entry.mtime = int(path.stat().st_mtime)  # the times of files tell what changed during a run
    tar.addfile(entry, io.BytesIO(path.read_bytes()))
