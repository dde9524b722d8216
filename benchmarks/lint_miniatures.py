"""How general the rules of `stethoscope lint` are: each kind of fault in several small programs.

    python benchmarks/lint_miniatures.py [--set open] [--kinds no-shuffle ...] [--reveal]

`lint_miniatures/<set>/<kind>/sick_N` holds a training program of 25 to 70 lines with one fault of a kind,
`healthy_N` one that only looks so; each is written in another style, by people who had not seen the rules.
Lines that end in `#@` are where a reviewer would point. A fault is found where a finding of a fitting kind
(`lint_faults/kinds.toml`) lies within three lines of one. In a healthy program all but notes is false.

The set `held_out` is for measuring: what was missed or said there is not printed, unless --reveal.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stethoscope.lint import Linted, lint

HERE = Path(__file__).parent
PROGRAMS = HERE / "lint_miniatures"
NEAR = 3  # lines, as in lint_faults.py
MARK = "#@"
SETS = ("open", "held_out")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said of one program."""

    kind: str
    name: str
    is_sick: bool
    is_found: bool
    wrong: tuple[str, ...]


def main() -> None:
    """Print recall by family and kind, and what was said of healthy programs."""
    options = _options()
    kinds = tomllib.loads((HERE / "lint_faults" / "kinds.toml").read_text())
    for folder in sorted(PROGRAMS.iterdir()):
        if folder.name in SETS and options.set in ("all", folder.name):
            chosen = [kind for kind in sorted(kinds) if not options.kinds or kind in options.kinds]
            outcomes = [one for kind in chosen for one in _of_kind(folder / kind, kinds[kind]["stethoscope"])]
            _report(folder.name, outcomes, kinds, folder.name != "held_out" or options.reveal)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=(*SETS, "all"), default="all")
    parser.add_argument("--kinds", nargs="+", default=())
    parser.add_argument("--reveal", action="store_true", help="details of held-out programs too")
    return parser.parse_args()


def _of_kind(folder: Path, codes: list[str]) -> Iterator[Outcome]:
    for program in sorted(folder.iterdir()) if folder.is_dir() else ():
        # By itself, away from the repository that it is kept in.
        with tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copytree(program, Path(place).resolve() / program.name))
            yield _outcome(folder.name, copy, codes)


def _outcome(kind: str, program: Path, codes: list[str]) -> Outcome:
    marks = list(_marks(program))
    said = lint([program]).findings
    fitting = [one for one in said if one.found.rule.code.startswith(tuple(codes))]
    others = [one for one in said if one not in fitting or not marks]
    return Outcome(
        kind,
        program.name,
        bool(marks),
        any(_is_near(one, marks) for one in fitting),
        tuple(_spoken(one) for one in others if one.found.severity != "note"),
    )


def _marks(program: Path) -> Iterator[tuple[Path, int]]:
    for file in sorted(program.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            lines = file.read_text().splitlines()
            yield from ((file, at) for at, line in enumerate(lines, 1) if line.rstrip().endswith(MARK))


def _is_near(one: Linted, marks: list[tuple[Path, int]]) -> bool:
    return any(
        Path(where.file).resolve() == file and abs((where.line or 0) - line) <= NEAR
        for where in one.found.finding.places
        for file, line in marks
    )


def _spoken(one: Linted) -> str:
    return f"{one.found.rule.code} {one.found.finding.places[0]} {one.found.finding.message}"


def _report(title: str, outcomes: list[Outcome], kinds: dict[str, dict[str, str]], is_open: bool) -> None:
    sick = [one for one in outcomes if one.is_sick]
    healthy = [one for one in outcomes if not one.is_sick]
    found = sum(one.is_found for one in sick)
    wrong = sum(bool(one.wrong) for one in healthy)
    print(f"{title}: {found} of {len(sick)} faults found; {wrong} of {len(healthy)} healthy programs accused")
    for family in dict.fromkeys(kind["family"] for kind in kinds.values()):
        of = [one for one in sick if kinds[one.kind]["family"] == family]
        if of:
            print(f"  {family:<12}{sum(one.is_found for one in of):>4} of {len(of)}")
    if not is_open:
        return
    found_of = Counter(one.kind for one in sick if one.is_found)
    for kind, count in Counter(one.kind for one in sick).items():
        print(f"    {kind:<40}{found_of[kind]:>3} of {count}")
    for one in outcomes:
        if one.is_sick and not one.is_found:
            print(f"missed: {one.kind}/{one.name}")
        for message in one.wrong:
            print(f"{'beside' if one.is_sick else 'false'}: {one.kind}/{one.name}: {message}")


if __name__ == "__main__":
    main()
