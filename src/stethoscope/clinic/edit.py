"""What turns a sick project into its cured twin: texts of its files, each replaced by another."""

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old`, which occurs exactly once in `file`, by `to`."""

    file: str
    old: str
    to: str
    why: str


def copy_files(project: Path, names: tuple[str, ...], target: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Copy the files `names` of `project` to `target` and apply `edits` to the copy."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project / name, target / name)
    for edit in edits:
        file = target / edit.file
        file.write_text(apply(edit, file.read_text(encoding="utf-8")), encoding="utf-8")


def apply(edit: Edit, source: str) -> str:
    """Return `source` with the edit made, or raise where it does not fit."""
    if source.count(edit.old) != 1:
        raise ValueError(
            f"{edit.file}: expected the text to replace once, found it {source.count(edit.old)} times"
        )
    return source.replace(edit.old, edit.to)
