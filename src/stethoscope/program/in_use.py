"""Which of the source files around a run are the ones it used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stethoscope.errors import UnreadableFile
from stethoscope.program import module_name, read_source
from stethoscope.program.syntax import all_nodes
from stethoscope.run import Program, Source, Unread
from stethoscope.run.file_times import LogFile, changed_after
from stethoscope.run.folder import Entry

MOST_FILES = 400  # of one program; import closures of real trainings are below 200
PLAIN_SIGHT = 2  # folders below the root; a script buried deeper is one of many things a repository does
NOT_TRAINING = frozenset({"tests", "test", "docs", "doc", "notebooks", "benchmarks", "third_party", "vendor"})
# Folders in which a run keeps a copy of the source that ran.
SNAPSHOTS = re.compile(
    r"^(?:code|codes|source|sources|src|snapshot|src_backup|code_backup|backup|files)$", re.I
)

# A file that trains: it takes a gradient, or hands over to something that does.
_TRAINS = re.compile(
    r"\.backward\(|\btrainer\.(?:fit|train)\(|\bTrainer\(|\.manual_backward\(|value_and_grad\("
)
_RUNS = re.compile(r"__name__\s*==\s*['\"]__main__['\"]|^(?:main|train)\(", re.MULTILINE)
_IMPORTS_BY_NAME = re.compile(r"import_module\(|__import__\(")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The Python files to choose from, below one root, and the logs of the run.

    `words` are the run's own names: log files, logged quantities, what the logs say first.
    """

    root: Path
    shown: str
    files: Sequence[Entry]
    logs: Sequence[LogFile] = ()
    words: str = ""
    series: Sequence[str] = ()


def program_of(
    around: Surroundings, origin: str, maintained: bool = True
) -> tuple[Program | None, tuple[Unread, ...]]:
    """All the Python files, as one program."""
    entries = [entry for entry in around.files if entry.name.endswith(".py")]
    unread = []
    if len(entries) > MOST_FILES:
        reason = f"{len(entries):,} Python files; the first {MOST_FILES} were read"
        unread.append(Unread(around.shown, reason))
    sources = []
    for entry in entries[:MOST_FILES]:
        try:
            sources.append(read_source(entry.path, entry.file, _module(entry, around.root)))
        except UnreadableFile as problem:
            unread.append(Unread(entry.file, str(problem).removeprefix(f"{entry.file}: ")))
    if not sources:
        return None, tuple(unread)
    changed = changed_after(around.logs, entries)
    return Program(around.shown, tuple(sources), origin, maintained, changed), tuple(unread)


def program_in_repository(around: Surroundings) -> tuple[Program | None, tuple[Unread, ...]]:
    """The training script of the repository that the run's own words point to, and all it imports."""
    entries = {entry.file: entry for entry in around.files if entry.name.endswith(".py")}
    everything, _ = program_of(around, "repository")
    if everything is None:
        return None, ()
    reached = {
        script.file: _reached(script, everything) for script in everything if _RUNS.search(script.text)
    }
    scripts = {file: files for file, files in reached.items() if any(_TRAINS.search(s.text) for s in files)}
    if not scripts:
        return None, ()
    best = _pointed_to(scripts, around)
    if best is None:
        names = ", ".join(list(scripts)[:3])
        reason = f"{len(scripts)} training scripts ({names} ...) and no sign which one ran; give it by --code"
        return None, (Unread(around.shown, reason),)
    sources = tuple(sorted(scripts[best], key=lambda source: source.file))
    changed = changed_after(around.logs, [entries[source.file] for source in sources])
    return Program(around.shown, sources, "repository", True, changed), ()


def is_training_code(entry: Entry, root: Path) -> bool:
    """Whether a Python file may be part of a training, by its name and folder."""
    folders = entry.path.relative_to(root).parts[:-1] if root in entry.path.parents else ()
    name = entry.name
    return (
        name.endswith(".py")
        and not NOT_TRAINING.intersection(folders)
        and not name.startswith("test_")
        and name not in {"setup.py", "conftest.py"}
    )


def trains(entry: Entry) -> bool:
    """Whether a file takes gradients, or hands over to something that does."""
    try:
        return bool(_TRAINS.search(entry.path.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return False


def _module(entry: Entry, root: Path) -> str:
    relative = entry.path.relative_to(root) if root in entry.path.parents else Path(entry.name)
    return module_name(PurePosixPath(relative.as_posix()))


def _pointed_to(scripts: dict[str, tuple[Source, ...]], around: Surroundings) -> str | None:
    """The script that most of the run's words point to, or the only one there is, if it is in plain sight."""
    if len(scripts) == 1:
        only, sources = next(iter(scripts.items()))
        if any(source.file == only and source.module.count(".") <= PLAIN_SIGHT for source in sources):
            return only
    points = {file: _points(file, sources, around) for file, sources in scripts.items()}
    best = max(points, key=lambda file: points[file])
    rivals = [file for file in points if points[file] == points[best]]
    return best if points[best] > 0 and len(rivals) == 1 else None


def _points(file: str, sources: Iterable[Source], around: Surroundings) -> float:
    """How much of what the run says comes from a script: its name, and the quantities it logs."""
    named = 10.0 if re.search(rf"(?<!\w){re.escape(Path(file).name)}(?!\w)", around.words) else 0.0
    text = "\n".join(source.text for source in sources)
    telling = [name for name in around.series if len(name) > 4]
    logged = sum(f'"{name}"' in text or f"'{name}'" in text for name in telling) / max(len(telling), 1)
    return named + logged


def _reached(script: Source, program: Program) -> tuple[Source, ...]:
    """A script and every file of the repository it imports, directly or not."""
    by_module = {source.module: source for source in program}
    found, todo = {script.file: script}, [script]
    while todo:
        source = todo.pop()
        for name in _imported(source, by_module):
            near = by_module[name]
            if near.file not in found:
                found[near.file] = near
                todo.append(near)
    return tuple(found.values())


def _imported(source: Source, by_module: dict[str, Source]) -> set[str]:
    """The repository's modules that a file imports; a script's own folder is on its path."""
    package = source.module if source.file.endswith("__init__.py") else source.module.rpartition(".")[0]
    wanted: set[str] = set()
    for node in all_nodes(source.tree):
        if isinstance(node, ast.Import):
            wanted.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node)
            wanted.update((base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)))
    places = {"", "src", package}
    found = {f"{place}.{name}".strip(".") for name in wanted for place in places}
    known = {module for name in found for module in (name, *_parents(name)) if module in by_module}
    if _IMPORTS_BY_NAME.search(source.text):
        known |= {module for module in by_module if package and module.startswith(f"{package}.")}
    return known


def _base(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
