"""Train the sick project and its cured twin, and keep both runs as examples."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stethoscope.clinic.cases.nano_sr.cure import CURE, PROJECT, copy_project
from stethoscope.clinic.edit import Edit

# Each example: the settings it runs, and what is edited in the source.
EXAMPLES: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "nano-sr": ("nano_sr", ()),
    "nano-sr-cured": ("nano_sr_cured", CURE),
}


def main() -> int:
    """Train every example at once; replace the recorded ones only when all have finished."""
    examples = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        runs = {example: start(work / example, *recipe) for example, recipe in EXAMPLES.items()}
        failed = [example for example, run in runs.items() if run.wait() != 0]
        if failed:
            print(f"record: {', '.join(failed)} failed; the examples are as they were", file=sys.stderr)
            return 1
        for example, (name, _) in EXAMPLES.items():
            keep(work / example, name, examples / example)
    return 0


def start(work: Path, name: str, edits: tuple[Edit, ...]) -> subprocess.Popen[bytes]:
    """Train in `work`, with relative paths only, so that no record names this machine."""
    copy_project(work / "code", edits)
    shutil.copyfile(PROJECT / "options" / f"{name}.yml", work / f"{name}.yml")
    return subprocess.Popen([sys.executable, "-B", "code/train.py", "-opt", f"{name}.yml"], cwd=work)


def keep(work: Path, name: str, target: Path) -> None:
    """Replace the example at `target` by the run in `work`."""
    shutil.rmtree(target, ignore_errors=True)
    # copyfile leaves the permissions behind: safetensors writes files that only their owner can read.
    shutil.copytree(work / "experiments" / name, target, copy_function=shutil.copyfile)
    shutil.copytree(work / "code", target / "code")


if __name__ == "__main__":
    sys.exit(main())
