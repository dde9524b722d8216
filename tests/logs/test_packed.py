"""Compressed logs are read as they are; a bomb or a damaged archive is no danger."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.logs import read_log

TABLE = b"step,loss\n" + b"".join(b"%d,%f\n" % (step, 1 / (1 + step)) for step in range(5000))


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_a_compressed_table_is_read(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"metrics.csv.{ending}"
    path.write_bytes(pack(TABLE))
    (loss,) = read_log(path).series
    assert loss.name == "loss"
    assert len(loss) == 5000


def test_an_archive_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv.gz"
    path.write_bytes(gzip.compress(TABLE)[:-2000])
    (loss,) = read_log(path).series
    assert 100 < len(loss) < 5000


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv.gz"
    path.write_bytes(gzip.compress(TABLE + b"\0" * (100 << 20)))
    with pytest.raises(UnreadableFile, match="unpacks to more than"):
        read_log(path)
