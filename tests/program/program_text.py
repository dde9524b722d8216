"""Small programs for the tests, written as text."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program import read_program
from stethoscope.run import Program, Splice


def program_of(folder: Path, **files: str) -> Program:
    """A program of these modules; `a__b` is the file a/b.py."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    program, unread = read_program(folder, str(folder))
    assert not unread
    return program


def apply(splices: tuple[Splice, ...]) -> None:
    """Make the changes to the files, last one first so that offsets stay true."""
    for splice in sorted(splices, key=lambda splice: -splice.start):
        path = Path(splice.file)
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: splice.start] + splice.text + text[splice.end :], encoding="utf-8")
