"""The casebook: real failures, written again as run directories, and what Stethoscope says about each.

A file is one case: a title, the framework, what was seen, the story, and fenced blocks that are the run
directory. A block with the info string `python > train.log` is run here, and what it prints becomes that
file; it has `math` and `rng`, seeded by the case's name. The last line says what a right answer is:

    Right: learning-rate-too-high, warmup-too-short     one of these among the first three causes
    Silent                                              nothing is wrong: no cause may stand
    Unknown                                             nobody ever found out: no cause may stand
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from stethoscope import diagnose
from stethoscope.causes.cause import Standing
from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis

FOLDER = Path(__file__).parent
LOOKED_AT = 3  # a person reads so many causes before losing patience

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Story:
    """One case: what there was to see, and what would be right to say."""

    name: str
    family: str
    title: str
    framework: str
    seen: str
    files: tuple[tuple[str, str], ...]
    right: tuple[str, ...]
    outcome: str  # Right, Silent or Unknown

    def write(self, folder: Path) -> None:
        """Lay the case out as a run directory."""
        for info, body in self.files:
            name = info.partition(" ")[2].strip()
            target = folder / name.removeprefix("> ")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_printed(body, self.name) if name.startswith("> ") else body, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said about a case, and whether it was right."""

    story: Story
    verdict: str
    first: tuple[str, ...]  # the causes that are not contradicted, most probable first
    standing: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether a right cause is among the first ones, or none stands where none should."""
        if self.story.outcome == "Right":
            return any(name in self.story.right for name in self.first)
        return not self.standing


@cache
def stories() -> tuple[Story, ...]:
    """Every case, by family and name."""
    return tuple(_story(path) for path in sorted(FOLDER.rglob("*.md")))


@cache
def answer(story: Story) -> Answer:
    """What is said about a case; each is diagnosed once."""
    with TemporaryDirectory(prefix="casebook-") as folder:
        story.write(Path(folder))
        return _answer(story, diagnose(folder))


def _answer(story: Story, diagnosis: Diagnosis) -> Answer:
    causes = diagnosis.explanation.causes
    named = [cause.name for cause in causes if cause.standing is not Standing.CONTRADICTED]
    standing = tuple(cause.name for cause in causes if stands(cause))
    return Answer(story, diagnosis.verdict.value, tuple(named[:LOOKED_AT]), standing)


def _story(path: Path) -> Story:
    text = path.read_text(encoding="utf-8")
    prose = _FENCE.sub("", text)
    kind, right = _outcome(prose, path)
    return Story(
        path.stem,
        path.parent.name,
        _line(prose, r"# (.+)", path),
        _line(prose, r"Framework: (.+)", path),
        _line(prose, r"Seen: (.+)", path),
        tuple((fence["info"].strip(), fence["body"]) for fence in _FENCE.finditer(text)),
        right,
        kind,
    )


def _outcome(prose: str, path: Path) -> tuple[str, tuple[str, ...]]:
    said = _line(prose, r"((?:Right: .+|Silent|Unknown))", path)
    kind, _, causes = said.partition(": ")
    return kind, tuple(name.strip() for name in causes.split(",") if name.strip())


def _line(prose: str, pattern: str, path: Path) -> str:
    found = re.search(rf"^{pattern}$", prose, re.MULTILINE)
    assert found, f"{path}: no line {pattern}"
    return found[1]


def _printed(code: str, seed: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"math": math, "rng": random.Random(seed)})
    return printed.getvalue()
