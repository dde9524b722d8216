"""read: the training source, parsed and never executed -> facts. One file per fact.

A fact module holds a frozen class and a function that finds it in a `Program`. `index` says what each
name in the repository stands for; `execution` follows values through its functions.
"""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath

from stethoscope.errors import UnreadableFile
from stethoscope.program.spelling import settled
from stethoscope.run import Program, Source, Unread

__all__ = ["parsed_source", "read_program", "read_source"]

# Folders that hold other people's code, build products or records.
SKIPPED = frozenset(
    {"site-packages", "dist-packages", "node_modules", "__pycache__", "build", "dist", "venv", "env", "wandb"}
)
MOST_FILES = 5_000
MOST_BYTES = 2_000_000  # a longer Python file was generated


def read_program(
    root: Path,
    shown: str,
    *,
    origin: str = "run",
    maintained: bool = True,
    changed_after_start: bool | None = None,
) -> tuple[Program, tuple[Unread, ...]]:
    """Parse every Python file below `root`, or the one it is; `shown` is the root as the user typed it."""
    sources: list[Source] = []
    unread: list[Unread] = []
    for count, path in enumerate(python_files(root)):
        if count >= MOST_FILES:
            unread.append(Unread(shown, f"only the first {MOST_FILES:,} Python files were read"))
            break
        relative = (
            PurePosixPath(path.relative_to(root).as_posix()) if path != root else PurePosixPath(path.name)
        )
        file = shown if path == root else str(Path(shown) / relative)
        try:
            sources.append(read_source(path, file, module_name(relative)))
        except UnreadableFile as problem:
            unread.append(Unread(file, str(problem).removeprefix(f"{file}: ")))
    return Program(shown, tuple(sources), origin, maintained, changed_after_start), tuple(unread)


def read_source(path: Path, file: str, module: str) -> Source:
    """Parse one Python file."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableFile(f"{file}: {problem.strerror}") from None
    return parsed_source(content, file, module)


def parsed_source(content: bytes, file: str, module: str) -> Source:
    """Parse the content of a Python file."""
    if len(content) > MOST_BYTES:
        raise UnreadableFile(f"{file}: longer than {MOST_BYTES:,} bytes, which no one writes by hand")
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        text = content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        with warnings.catch_warnings():  # "\d" in someone's string is not our business
            warnings.simplefilter("ignore")
            return Source(file, module, text, settled(ast.parse(text)))
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as problem:
        raise UnreadableFile(f"{file}: not valid Python: {problem}") from None


def python_files(root: Path) -> Iterator[Path]:
    """The Python files below a folder that belong to its project, in a stable order."""
    if root.is_file():
        yield root
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_own(Path(folder) / name))
        yield from (Path(folder) / name for name in sorted(files) if name.endswith(".py"))


def module_name(relative: PurePosixPath) -> str:
    """The dotted name under which a file is imported from the root."""
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _is_own(folder: Path) -> bool:
    if (
        folder.name.startswith(".")
        or folder.name in SKIPPED
        or folder.name.endswith((".egg-info", ".dist-info"))
    ):
        return False
    return not (folder / "pyvenv.cfg").exists() and not folder.is_symlink()
