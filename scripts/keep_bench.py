"""Make the runs of FaultBench's CI tier and keep them with the package, as one compressed file.

    .venv/bin/python scripts/keep_bench.py FOLDER [--jobs 2] [--only 12]

The runs are scored, and what is reached on them is written beside the file: the floors of the test in CI.
Where FOLDER holds a full bench, which faults do harm is measured from all of it and kept, too.
What is made stays in FOLDER, so that a call goes on where the last one ended. `--only` makes that many of the
runs and keeps nothing: to see how long all of them will take.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from stethoscope.clinic.faultbench import bench, kept, measured, packing, plan
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.making import LABELS, TIMED_OUT
from stethoscope.clinic.faultbench.specimen import Specimen
from stethoscope.clinic.faultbench.task import tasks


def main() -> None:
    """Make the runs, pack them, and say how large the file is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int)
    asked = parser.parse_args()
    chosen = plan.small(tasks().values())
    wanted = chosen[:: max(1, len(chosen) // asked.only)] if asked.only else chosen
    begun = time.monotonic()
    labels = bench.make_all(wanted, asked.folder, asked.jobs, _tell)
    print(f"{len(labels)} runs in {time.monotonic() - begun:.0f} s")
    _make_late_ones_again(wanted, labels, asked.folder)
    if not asked.only:
        for label in labels:
            packing.without_weights(asked.folder / label.name)
        packing.pack(asked.folder, [specimen.name for specimen in chosen], packing.KEPT)
        print(f"wrote {packing.KEPT} ({packing.KEPT.stat().st_size / 1e6:.1f} MB)")
        begun = time.monotonic()
        kept.write(kept.reach(asked.jobs))
        print(f"wrote {kept.REACHED}; scored in {time.monotonic() - begun:.0f} s")
        fresh = measured.measured_in(bench.labels_in(asked.folder))
        measured.keep(measured.joined(measured.recorded(), fresh))
        print(f"wrote {measured.RECORD}; harm is measured in {len(fresh.cells)} cells")


def _make_late_ones_again(wanted: list[Specimen], labels: list[Label], folder: Path) -> None:
    """Make what took too long once more, one at a time: what hangs then hangs by its fault."""
    late = {label.name for label in labels if label.ended == TIMED_OUT}
    for name in late:
        (folder / LABELS / f"{name}.json").unlink()
    again = bench.make_all([specimen for specimen in wanted if specimen.name in late], folder, 1, _tell)
    for label in again:
        print(f"{label.name}: {label.ended} when made again")


def _tell(done: int, of: int, name: str) -> None:
    print(f"{done}/{of} {name}", flush=True)


if __name__ == "__main__":
    main()
