"""Files that are changed in one place and nowhere else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile, UnwritableFile
from stethoscope.prescription.edits import replacing
from stethoscope.prescription.edits.replacing import replace_content
from stethoscope.prescription.edits.rewriting import rewritten
from stethoscope.run import Splice


def changed(content: bytes, start: int, end: int, text: str, file: str = "a.py") -> bytes:
    read_as = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return rewritten(content, read_as, [Splice(file, start, end, text)], file)


def test_line_ends_stay_as_they_are() -> None:
    assert changed(b"a = 1\r\nb = 2\r\nc = 3\n", 10, 11, "5") == b"a = 1\r\nb = 5\r\nc = 3\n"
    assert changed(b"a = 1\r\nb = 2\r\n", 0, 0, "x = 0\n") == b"x = 0\r\na = 1\r\nb = 2\r\n"
    assert changed(b"a = 1\nb = 2", 11, 11, "\nc = 3") == b"a = 1\nb = 2\nc = 3"


def test_a_byte_order_mark_stays() -> None:
    assert changed(b"\xef\xbb\xbfa = 1\n", 4, 5, "2") == b"\xef\xbb\xbfa = 2\n"
    assert changed(b"\xef\xbb\xbfa: 1\n", 3, 4, "2", "a.yaml") == b"\xef\xbb\xbfa: 2\n"


def test_an_encoding_stays() -> None:
    content = "# coding: latin-1\nname = 'é'\nx = 1\n".encode("latin-1")
    read_as = content.decode("latin-1")
    at = read_as.index("x = 1") + 4
    after = rewritten(content, read_as, [Splice("a.py", at, at + 1, "2")], "a.py")
    assert after == content.replace(b"x = 1", b"x = 2")
    with pytest.raises(UnreadableFile, match="cannot hold the change"):
        rewritten(content, read_as, [Splice("a.py", at, at + 1, "'\u4e2d'")], "a.py")


def test_a_file_that_changed_since_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="changed since it was read"):
        rewritten(b"a = 2\n", "a = 1\n", [Splice("a.py", 4, 5, "3")], "a.py")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="not a text whose encoding is known"):
        rewritten(b"a: \xff\n", "a: \ufffd\n", [], "a.yaml")


@given(
    lines=st.lists(st.tuples(st.text("ab=é \t", max_size=6), st.sampled_from(["\n", "\r\n"])), max_size=8),
    where=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    text=st.text("xy", max_size=4),
)
def test_what_is_outside_a_splice_is_the_same_bytes(
    lines: list[tuple[str, str]], where: tuple[float, float], text: str
) -> None:
    content = "".join(line + end for line, end in lines).encode()
    read_as = content.decode().replace("\r\n", "\n")
    start, end = sorted(int(share * len(read_as)) for share in where)
    after = rewritten(content, read_as, [Splice("a.yaml", start, end, text)], "a.yaml")
    assert after.decode().replace("\r\n", "\n") == read_as[:start] + text + read_as[end:]
    before_lines, after_lines = content.split(b"\n"), after.split(b"\n")
    untouched = read_as[:start].count("\n")
    assert after_lines[:untouched] == before_lines[:untouched]


def test_a_file_is_replaced_with_its_rights_and_through_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "train.py", tmp_path / "link.py"
    target.write_bytes(b"a")
    target.chmod(0o751)
    link.symlink_to(target)
    replace_content(link, b"a", b"b", "link.py")
    assert (target.read_bytes(), link.is_symlink()) == (b"b", True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o751
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "train.py"]


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "train.py"
    target.write_bytes(b"a")
    target.chmod(0o444)
    with pytest.raises(UnwritableFile, match=r"train.py is read-only"):
        replace_content(target, b"a", b"b", "train.py")
    assert target.read_bytes() == b"a"


def test_somebody_elses_change_is_not_lost(tmp_path: Path) -> None:
    target = tmp_path / "train.py"
    target.write_bytes(b"theirs")
    with pytest.raises(UnwritableFile, match="changed since it was read"):
        replace_content(target, b"a", b"b", "train.py")
    assert target.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["train.py"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "train.py"
    target.write_bytes(b"a")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, "fsync", full)
    with pytest.raises(UnwritableFile, match="no space left on device"):
        replace_content(target, b"a", b"b", "train.py")
    assert target.read_bytes() == b"a"
    assert os.listdir(tmp_path) == ["train.py"]
