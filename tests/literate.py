"""Rule cases as prose: a Markdown file whose fenced blocks are the run directory.

A section (`## Title`) is one case. A fence's info string names its file: ```csv train.csv. A fence
with the info string `python > train.csv` is run, and what it prints becomes that file (for series too
long to read). Below the blocks stands what the section's rule must say, one or more of:

    Nothing is reported.
    Reported: some words of the message
    Reported at train.py:12: some words of the message
    Not examined: some words of the reason
    Fixed (safe): `code that the fix writes`

What is fixed says for a sick case what its files hold once every fix is made, and the level of the fix.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_REPORTED = re.compile(r"^Reported(?: at (?P<where>\S+))?: (?P<words>.+)$", re.MULTILINE)
_FIXED = re.compile(r"^Fixed \((?P<level>\w+)\): `(?P<code>.+)`$", re.MULTILINE)
_NOT_EXAMINED = re.compile(r"^Not examined: (?P<words>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One section of a case file."""

    rule: str
    family: str
    title: str
    files: tuple[tuple[str, str, str], ...]  # language, file name, body
    reported: tuple[tuple[str | None, str], ...]
    not_examined: tuple[str, ...]
    silent: bool
    fixed: tuple[tuple[str, str], ...] = ()  # level, code

    @property
    def name(self) -> str:
        return f"{self.family}/{self.rule}: {self.title}"

    def write(self, folder: Path) -> None:
        """Lay the case out as a run directory."""
        for language, name, body in self.files:
            target = folder / name.removeprefix("> ")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_printed(body) if name.startswith("> ") else body, encoding="utf-8")
            assert language


def cases() -> list[Case]:
    """Every case there is."""
    return [case for path in sorted(CASES.rglob("*.md")) for case in _sections(path)]


def _sections(path: Path) -> list[Case]:
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_case(path, title.strip(), body) for title, body in zip(parts[1::2], parts[2::2], strict=True)]


def _case(path: Path, title: str, body: str) -> Case:
    prose = _FENCE.sub("", body)
    files = []
    for fence in _FENCE.finditer(body):
        language, _, name = fence["info"].strip().partition(" ")
        files.append((language, name.strip(), fence["body"]))
    return Case(
        path.stem,
        path.parent.name,
        title,
        tuple(files),
        tuple((found["where"], found["words"].strip()) for found in _REPORTED.finditer(prose)),
        tuple(found["words"].strip() for found in _NOT_EXAMINED.finditer(prose)),
        "Nothing is reported." in prose,
        tuple((found["level"], found["code"]) for found in _FIXED.finditer(prose)),
    )


def _printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
