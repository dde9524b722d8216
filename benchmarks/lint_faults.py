"""How many planted training faults `stethoscope lint` finds, and how often it speaks of healthy code.

    python benchmarks/lint_faults.py --check                     do all replacements apply, once each?
    python benchmarks/lint_faults.py --train PYTHON              do the projects train, with this Python?
    python benchmarks/lint_faults.py [--set open] [--peers DIR]  recall and false findings, side by side

`lint_faults/<project>/` is a small training project that is healthy; `<project>.toml` beside it says which
replacements of text make a sick copy of it (`[[fault]]`) and which only look suspicious (`[[twin]]`).
A tool has found a fault where a finding of a fitting kind (`kinds.toml`) lies within three lines of one of
the planted places. In a healthy project or a twin every finding is false.

A third of the projects is held out: their numbers are printed, what was missed or said of them is not,
unless --reveal. torchfix and torch-preflight come from the package index into an environment of their own;
--peers names one that has them, --tools leaves some out.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "lint_faults"
FAMILIES = ("loop", "precision", "objective", "evaluation", "data", "resume", "ranks", "settings")
NEAR = 3  # lines: a rule may point at the call, at the statement around it or at the one before
TRAINING_LIMIT_S = 300
PEERS = ("torchfix", "torch-preflight")
OURS = "stethoscope"


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of text in one file."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True, slots=True)
class Copy:
    """One version of a project: healthy, sick by one fault, or a twin that only looks so."""

    project: str
    name: str
    kind: str  # "healthy", "fault" or "twin"
    rule: str = ""
    edits: tuple[Edit, ...] = ()
    places: tuple[str, ...] = ()
    consequential: bool = True
    held_out: bool = False
    command: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    cpu_only: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """One finding of a tool: its code, and all places that it names."""

    code: str
    places: tuple[tuple[str, int], ...]
    message: str = ""


def main() -> int:
    """Do what the options ask for."""
    options = _options()
    copies = [copy for copy in load() if _wanted(copy, options)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        if options.check:
            return check(copies, root)
        addresses = {copy.name: write(copy, root / copy.name) for copy in copies}
        if options.train:
            return train(copies, root, options)
        said = {
            tool: ours(copies, root, options) if tool == OURS else peer(tool, options.peers, copies, root)
            for tool in options.tools
        }
        print(report(copies, addresses, said, options))
        if options.write:
            options.write.write_text(json.dumps(_record(copies, addresses, said), indent=1))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=("open", "held-out", "all"), default="all")
    parser.add_argument("--only", default="", help="a part of the names of the copies wanted")
    parser.add_argument("--kind", choices=("healthy", "fault", "twin"))
    parser.add_argument("--check", action="store_true", help="apply all replacements and count them")
    parser.add_argument("--train", default="", metavar="PYTHON", help="run every copy with this Python")
    parser.add_argument("--gpu", action="store_true", help="train on the GPU, not on the CPU")
    parser.add_argument("--peers", type=Path, help="an environment with torchfix and torch-preflight")
    parser.add_argument("--tools", nargs="+", choices=(OURS, *PEERS), default=(OURS, *PEERS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reveal", action="store_true", help="details of held-out projects too")
    parser.add_argument("--write", type=Path, help="all results as JSON")
    parser.add_argument(
        "--lint",
        default=str(Path(sys.executable).with_name("stethoscope")),
        help="the stethoscope command to measure",
    )
    return parser.parse_args()


def _wanted(copy: Copy, options: argparse.Namespace) -> bool:
    chosen: bool = options.set == "all" or copy.held_out == (options.set == "held-out")
    return chosen and options.only in copy.name and copy.kind in (options.kind or copy.kind)


# The copies


def load() -> Iterator[Copy]:
    """Every version of every project."""
    seen = set()
    for path in sorted(HERE.glob("*.toml")):
        if path.name in ("kinds.toml", "ruff.toml"):
            continue
        project = tomllib.loads(path.read_text())
        common = {
            "project": path.stem,
            "held_out": project["held_out"],
            "needs": tuple(project.get("needs", ())),
            "cpu_only": project.get("cpu_only", False),
        }
        command = tuple(project["run"])
        yield Copy(name=path.stem, kind="healthy", command=command, **common)
        for kind in ("fault", "twin"):
            for entry in project[kind]:
                if entry["id"] in seen:
                    raise ValueError(f"{path.name}: two copies are called {entry['id']}")
                seen.add(entry["id"])
                yield Copy(
                    name=entry["id"],
                    kind=kind,
                    rule=entry["rule" if kind == "fault" else "like"],
                    edits=tuple(_edits(entry)),
                    places=tuple(entry.get("at", ())),
                    consequential=entry.get("consequential", True),
                    command=command if entry.get("runs", True) else (),
                    **common,
                )


def _edits(entry: dict[str, Any]) -> Iterator[Edit]:
    if "find" in entry:
        yield Edit(entry["file"], entry["find"], entry["replace"])
    for edit in [*entry.get("edits", ()), *entry.get("more", ())]:
        yield Edit(**edit)


def write(copy: Copy, folder: Path) -> list[tuple[str, int]]:
    """Write this version below `folder` and give the lines of its planted places."""
    shutil.copytree(HERE / copy.project, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in copy.edits:
        path = folder / edit.file
        text = path.read_text()
        if text.count(edit.find) != 1:
            raise ValueError(
                f"{copy.name}: {edit.file} holds {text.count(edit.find)} times, not once:\n{edit.find}"
            )
        path.write_text(text.replace(edit.find, edit.replace))
        if path.suffix == ".py":
            ast.parse(path.read_text(), str(path))
    return [_address(copy, folder, place) for place in copy.places]


def _address(copy: Copy, folder: Path, place: str) -> tuple[str, int]:
    """The line of a planted place, written as its text or as `file::text`."""
    file, _, text = place.rpartition("::")
    file = file or copy.edits[0].file
    whole = (folder / file).read_text()
    if whole.count(text) != 1:
        raise ValueError(f"{copy.name}: {file} holds {whole.count(text)} times, not once: {text}")
    blank = len(text) - len(text.lstrip())
    return file, whole.count("\n", 0, whole.index(text) + blank) + 1


def check(copies: list[Copy], root: Path) -> int:
    """Apply every replacement; say which do not apply, and count the rest."""
    wrong = 0
    for copy in copies:
        try:
            write(copy, root / copy.name)
        except (ValueError, SyntaxError) as problem:
            wrong += 1
            print(f"{copy.name}: {problem}")
    print(census(copies))
    return int(wrong > 0)


def census(copies: list[Copy]) -> str:
    """How many copies there are of each kind."""
    kinds = _kinds()
    lines = [f"{'family':<12}{'faults':>8}{'twins':>8}{'kinds':>8}"]
    for family in FAMILIES:
        of = [copy for copy in copies if copy.rule and kinds[copy.rule]["family"] == family]
        faults = [copy for copy in of if copy.kind == "fault"]
        lines.append(
            f"{family:<12}{len(faults):>8}{len(of) - len(faults):>8}{len({c.rule for c in faults}):>8}"
        )
    count = Counter((copy.kind, copy.held_out) for copy in copies)
    lines += [
        f"{kind}: {count[kind, False]} open, {count[kind, True]} held out"
        for kind in ("healthy", "fault", "twin")
    ]
    planted = {copy.rule for copy in copies if copy.kind == "fault"}
    lines += [f"no fault of the kind {rule}" for rule in kinds if rule not in planted]
    return "\n".join(lines)


def _kinds() -> dict[str, dict[str, Any]]:
    return tomllib.loads((HERE / "kinds.toml").read_text())


def train(copies: list[Copy], root: Path, options: argparse.Namespace) -> int:
    """Run every copy that can run here; say which failed."""
    able = [copy for copy in copies if copy.command and _importable(copy.needs, options.train)]

    def failure(copy: Copy) -> str:
        visible = {} if options.gpu and not copy.cpu_only else {"CUDA_VISIBLE_DEVICES": ""}
        try:
            done = subprocess.run(
                [options.train, *copy.command],
                cwd=root / copy.name,
                capture_output=True,
                text=True,
                timeout=TRAINING_LIMIT_S,
                env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", **visible},
            )
        except subprocess.TimeoutExpired:
            return f"ran for more than {TRAINING_LIMIT_S} s"
        return done.stderr[-1500:] or f"exit status {done.returncode}" if done.returncode else ""

    failed = Counter[str]()
    with ThreadPoolExecutor(options.jobs) as pool:
        for copy, problem in zip(able, pool.map(failure, able), strict=True):
            if problem:
                failed[copy.kind] += 1
                print(f"FAILED {copy.kind} {copy.name}\n{problem}", flush=True)
    for kind, count in Counter(copy.kind for copy in able).items():
        print(f"{kind}: {count - failed[kind]} of {count} trained")
    print(f"{len(copies) - len(able)} cannot run here")
    return int(failed.total() > 0)


@cache
def _importable(needs: tuple[str, ...], python: str) -> bool:
    """Whether this Python has the packages that a project needs."""
    code = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {needs!r})))"
    return not needs or subprocess.run([python, "-c", code], capture_output=True).returncode == 0


# What the tools say


def ours(copies: list[Copy], root: Path, options: argparse.Namespace) -> dict[str, list[Said]]:
    """The findings of `stethoscope lint` in every copy; where it breaks off, that is a false one."""

    def lint(copy: Copy) -> list[Said]:
        done = subprocess.run(
            [options.lint, "lint", "--format", "json", "."],
            cwd=root / copy.name,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            return [Said("FAILED", (), done.stderr[-500:])]
        return [
            Said(
                finding["code"],
                tuple(
                    (_relative(place["file"], root / copy.name), place["line"]) for place in finding["where"]
                ),
                f"[{finding['severity']}] {finding['message']}",
            )
            for finding in json.loads(done.stdout)["findings"]
        ]

    if not shutil.which(options.lint):
        print(f"{options.lint} is not there; give the command by --lint", file=sys.stderr)
        return {copy.name: [] for copy in copies}
    with ThreadPoolExecutor(options.jobs) as pool:
        return dict(zip((copy.name for copy in copies), pool.map(lint, copies), strict=True))


def peer(name: str, environment: Path | None, copies: list[Copy], root: Path) -> dict[str, list[Said]]:
    """The findings of a peer.

    Peers read each file by itself, so of a copy only the files that were changed are read, and
    what was said of the healthy project holds for the others.
    """
    command = _peer_environment(environment) / "bin" / name
    arguments, parse = READ[name]
    said: dict[str, list[Said]] = {copy.name: [] for copy in copies}
    with tempfile.TemporaryDirectory() as folder:
        reading = Path(folder).resolve()
        changed = {copy.name: _files_to_read(copy, root, reading) for copy in copies}
        for project in {copy.project for copy in copies}:
            shutil.copytree(HERE / project, reading / f"whole.{project}", dirs_exist_ok=True)
        done = subprocess.run([str(command), *arguments, "."], cwd=reading, capture_output=True, text=True)
        for code, file, line, message in parse(done.stdout):
            top, _, inside = _relative(file, reading).partition("/")
            one = Said(code, ((inside, line),), message)
            if not top.startswith("whole."):
                said[top].append(one)
                continue
            for copy in copies:
                if copy.project == top.removeprefix("whole.") and inside not in changed[copy.name]:
                    said[copy.name].append(one)
    return said


def _files_to_read(copy: Copy, root: Path, reading: Path) -> set[str]:
    """Lay the changed files of a copy out for a peer, and give their names."""
    files = {edit.file for edit in copy.edits if edit.file.endswith(".py")}
    for file in files:
        target = reading / copy.name / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / copy.name / file, target)
    return files


def _peer_environment(environment: Path | None) -> Path:
    """The environment given, or our own with both peers in it."""
    if environment:
        return environment.absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stethoscope" / "lint-peers"
    if not (cache / "bin" / PEERS[-1]).exists():
        venv.create(cache, with_pip=True, clear=True)
        subprocess.run([cache / "bin" / "pip", "install", "--quiet", *PEERS], check=True)
    return cache


def _torchfix(output: str) -> Iterator[tuple[str, str, int, str]]:
    for line in output.splitlines():
        if found := re.match(r"(.+?\.py):(\d+):\d+: (TOR\d+) (.*)", line):
            yield found[3], found[1], int(found[2]), found[4]


def _torch_preflight(output: str) -> Iterator[tuple[str, str, int, str]]:
    for entry in json.loads(output)["diagnostics"]:
        message = f"[{entry['severity']}] {entry['message']}"
        yield entry["code"], entry["path"], entry["line"], message


Parser = Callable[[str], Iterable[tuple[str, str, int, str]]]
READ: dict[str, tuple[tuple[str, ...], Parser]] = {
    "torchfix": (("-j", "1"), _torchfix),
    "torch-preflight": (("check", "-f", "json", "-j", "1"), _torch_preflight),
}


def _relative(file: str, root: Path) -> str:
    """A path as a tool prints it, seen from `root`."""
    path = Path(file)
    return str(path.relative_to(root) if path.is_absolute() else path)


# What it amounts to


def found(copy: Copy, addresses: list[tuple[str, int]], said: list[Said], codes: Iterable[str]) -> bool:
    """Whether a finding of a fitting kind lies near a planted place."""
    return any(_near(one, addresses) and one.code.startswith(tuple(codes)) for one in said)


def _near(said: Said, addresses: list[tuple[str, int]]) -> bool:
    return any(
        file == planted_file and abs(line - planted_line) <= NEAR
        for file, line in said.places
        for planted_file, planted_line in addresses
    )


def _false(said: list[Said]) -> list[Said]:
    """What counts as false in healthy code: notes about speed and taste do not."""
    return [one for one in said if not one.message.startswith("[note]")]


def report(
    copies: list[Copy],
    addresses: dict[str, list[tuple[str, int]]],
    said: dict[str, dict[str, list[Said]]],
    options: argparse.Namespace,
) -> str:
    kinds = _kinds()
    faults = [copy for copy in copies if copy.kind == "fault"]
    healthy = [copy for copy in copies if copy.kind != "fault"]
    hit = {
        tool: {c.name for c in faults if found(c, addresses[c.name], of[c.name], kinds[c.rule].get(tool, ()))}
        for tool, of in said.items()
    }
    lines = [f"{'faults found':<38}{'faults':>8}" + "".join(f"{tool:>17}" for tool in said)]

    def row(title: str, chosen: list[Copy]) -> None:
        if chosen:
            counts = [sum(copy.name in hit[tool] for copy in chosen) for tool in said]
            cells = "".join(f"{count:>10}{count / len(chosen):>7.0%}" for count in counts)
            lines.append(f"{title:<38}{len(chosen):>8}{cells}")

    row("all", faults)
    row("consequential", [copy for copy in faults if copy.consequential])
    row("open", [copy for copy in faults if not copy.held_out])
    row("held out", [copy for copy in faults if copy.held_out])
    for family in FAMILIES:
        row(f"  {family}", [copy for copy in faults if kinds[copy.rule]["family"] == family])
    lines.append("")
    for rule in kinds:
        row(f"    {rule}", [copy for copy in faults if copy.rule == rule])

    lines += ["", f"{'false findings':<38}{'copies':>8}" + "".join(f"{tool:>17}" for tool in said)]
    groups: dict[str, list[Copy]] = defaultdict(list)
    for copy in healthy:
        groups[f"{'held out' if copy.held_out else 'open'}, {copy.kind}"].append(copy)
    for title, chosen in groups.items():
        cells = [_false([one for copy in chosen for one in of[copy.name]]) for of in said.values()]
        lines.append(f"{title:<38}{len(chosen):>8}" + "".join(f"{len(cell):>17}" for cell in cells))
    for tool, of in said.items():
        codes = Counter(one.code for copy in healthy for one in _false(of[copy.name]))
        lines.append(f"  {tool}: " + (", ".join(f"{c} {n}" for c, n in codes.most_common()) or "none"))

    if OURS not in said:
        return "\n".join(lines)
    shown = [copy for copy in copies if options.reveal or not copy.held_out]
    lines += ["", f"missed by {OURS}:"]
    lines += [
        f"  {copy.name} ({copy.rule}) {_places(addresses[copy.name])}"
        for copy in shown
        if copy.kind == "fault" and copy.name not in hit[OURS]
    ]
    lines += ["", f"said by {OURS} of healthy code, or of a sick copy beside its fault:"]
    for copy in shown:
        fitting = tuple(kinds[copy.rule].get(OURS, ())) if copy.kind == "fault" else ()
        for one in said[OURS][copy.name]:
            if not (fitting and one.code.startswith(fitting) and _near(one, addresses[copy.name])):
                lines.append(f"  {copy.kind} {copy.name}: {one.code} {_places(one.places)} {one.message}")
    return "\n".join(lines)


def _places(places: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"{file}:{line}" for file, line in places)


def _record(
    copies: list[Copy],
    addresses: dict[str, list[tuple[str, int]]],
    said: dict[str, dict[str, list[Said]]],
) -> list[dict[str, Any]]:
    return [
        {
            "project": copy.project,
            "name": copy.name,
            "kind": copy.kind,
            "rule": copy.rule,
            "held_out": copy.held_out,
            "consequential": copy.consequential,
            "places": addresses[copy.name],
            "said": {
                tool: [{"code": one.code, "places": one.places} for one in of[copy.name]]
                for tool, of in said.items()
            },
        }
        for copy in copies
    ]


if __name__ == "__main__":
    sys.exit(main())
