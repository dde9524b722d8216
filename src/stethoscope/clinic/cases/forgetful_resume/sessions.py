"""Stand in for the queue of a cluster, which ends a job when its time is up: python sessions.py settings.yaml

Every session begins with nothing but what the last one saved. They share one process, to load libraries once.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import yaml


def main() -> None:
    """Start the training as often as the queue allows, each time for as many steps as there is time for."""
    settings = sys.argv[1]
    cfg = yaml.safe_load(Path(settings).read_text(encoding="utf-8"))
    for steps in cfg["queue"]["sessions"]:
        sys.argv = ["train.py", settings, "--steps", str(steps)]
        runpy.run_path("train.py", run_name="__main__")


if __name__ == "__main__":
    main()
