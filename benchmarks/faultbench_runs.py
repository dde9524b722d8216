"""Keep the runs of a full bench, one compressed file for each training, and lay them out again.

    python benchmarks/faultbench_runs.py pack FOLDER      writes benchmarks/recorded/faultbench/TASK.tar.xz
    python benchmarks/faultbench_runs.py unpack FOLDER    lays out all of them below FOLDER

Training two thousand runs takes two cores an evening; diagnosing them takes half an hour. Whoever changes a
rule lays the runs out and scores them (`stethoscope clinic bench --tier full --into FOLDER`), which makes
those that are not there yet.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from stethoscope.clinic.faultbench.bench import labels_in
from stethoscope.clinic.faultbench.packing import pack, unpack

KEPT = Path(__file__).parent / "recorded" / "faultbench"


def main() -> None:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("pack", "unpack"))
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.what == "pack":
        _pack(asked.folder)
    else:
        for file in sorted(KEPT.glob("*.tar.xz")):
            unpack(file, asked.folder)
            print(f"laid out {file.name}")


def _pack(folder: Path) -> None:
    by_task = defaultdict(list)
    for label in labels_in(folder):
        by_task[label.task].append(label.name)
    KEPT.mkdir(parents=True, exist_ok=True)
    for task, names in by_task.items():
        target = KEPT / f"{task}.tar.xz"
        pack(folder, names, target)
        print(f"{target.name}: {len(names)} runs, {target.stat().st_size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
