"""Recording examples: a project is copied, run as its user would run it, and what it left is kept."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stethoscope.clinic.instructions import instructions


@dataclass(frozen=True, slots=True)
class Recording:
    """One example: how its project is laid out, what is run there, and what is kept of it."""

    example: str
    copy_project: Callable[[Path], None]
    script: str  # for bash, run inside the copied project, with relative paths only
    keep: Callable[[Path, Path], None]  # (the project after the run, the example's folder)


def record(recordings: tuple[Recording, ...]) -> int:
    """Run every recording at once; replace the examples only when all have finished.

    The folder with the examples is the command's one argument.
    """
    examples = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        runs = {recording: _start(recording, work / recording.example) for recording in recordings}
        failed = [recording.example for recording, run in runs.items() if run.wait() != 0]
        if failed:
            print(f"record: {', '.join(failed)} failed; the examples are as they were", file=sys.stderr)
            return 1
        for recording in recordings:
            target = examples / recording.example
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            recording.keep(work / recording.example, target)
    return 0


def _start(recording: Recording, project: Path) -> subprocess.Popen[bytes]:
    recording.copy_project(project)
    # The projects say `python`, as their users do: it has to be the interpreter that has torch.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = os.environ | instructions() | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", recording.script], cwd=project, env=environment
    )


def keep_files(source: Path, target: Path, left_out: tuple[str, ...] = ()) -> None:
    """Copy the folder `source` without the files whose endings are `left_out`, and list those.

    Weights would be most of an example and nothing that reads examples opens them: their names
    and sizes go to `left_out.txt`.
    """
    files = sorted(file for file in source.rglob("*") if file.is_file())
    listed = []
    for file in files:
        name = file.relative_to(source)
        if file.suffix in left_out:
            listed.append(f"{name.as_posix()} {file.stat().st_size} bytes\n")
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        # copyfile leaves the permissions behind: some writers make files that only their owner can read.
        shutil.copyfile(file, target / name)
    if listed:
        (target / "left_out.txt").write_text("".join(listed), encoding="utf-8")
