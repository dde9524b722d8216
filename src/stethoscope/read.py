"""read: one directory in, one `Run` out."""

from __future__ import annotations

from pathlib import Path

from stethoscope.errors import NothingToRead, UnreadableFile
from stethoscope.logs import read_log
from stethoscope.program import read_source
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import ConfigFile, Program, Recipe, Run, Unread


def read(path: Path, config: Path | None = None, code: Path | None = None) -> Run:
    """Read everything there is about the run stored at `path`."""
    logs, unread, configs, sources = [], [], [], []
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not file.is_file():
            continue
        shown = str(file)
        try:
            syntax = syntax_of(file.name)
            if file.suffix == ".py":
                sources.append(read_source(file, shown, file.stem))
            elif syntax:
                configs.append(ConfigFile(shown, file.read_text(), "run", syntax))
            else:
                logs.append(read_log(file, shown))
        except UnreadableFile as problem:
            unread.append(Unread(shown, str(problem)))
    if not (logs or configs or sources):
        raise NothingToRead(f"no log, settings or code found in {path}.")
    settings = [s for c in configs for s in read_settings(c.text, c.file, c.syntax)]
    return Run(
        str(path),
        path.resolve().name,
        tuple(logs),
        {s.name: s for log in logs for s in log.series},
        recipe=Recipe(tuple(settings), tuple(configs)) if configs else None,
        program=Program(str(path), tuple(sources)) if sources else None,
        unread=tuple(unread),
    )


