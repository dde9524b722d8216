"""A small project whose settings can be mended: a number that is text, and a warm-up that never ends."""

from __future__ import annotations

from pathlib import Path

SETTINGS = """\
# what the run reads
lr: 2e-4   # the peak
warmup_steps: 5000  # as in the paper
max_steps: 2000
"""
MENDED = SETTINGS.replace("2e-4", "2.0e-4")
MENDED_ALL = MENDED.replace("5000", "100")

LOG = """\
2026-01-05 10:00:00 start
Traceback (most recent call last):
  File "train.py", line 12, in main
    optimizer = torch.optim.Adam(net.parameters(), lr=opt["lr"])
TypeError: '<=' not supported between instances of 'float' and 'str'
"""


def sick_project(folder: Path) -> Path:
    """A project with the log of a run that fell over its own settings."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "nano"\n')
    (folder / "settings.yml").write_text(SETTINGS)
    (folder / "train.log").write_text(LOG)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a project but for what is kept for undoing."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".stethoscope" not in path.parts and ".git" not in path.parts
    }
