"""How long `stethoscope triage` takes for a thousand small runs, cold and warm, in seconds and in CPU time.

python benchmarks/triage_thousand.py [RUNS] [JOBS]

The runs are CSV logs of 200 steps with settings beside them; every tenth turns NaN and every twentieth
diverges. On a machine that is busy with other work the CPU time says more than the clock: what two free
cores need is about half of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

RUNS = 1000
AN_HOUR = 3600.0
SET_CHILD_SUBREAPER = 36  # of prctl(2)


def main() -> None:
    """Make the runs, sort them out twice, and print what it took."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    jobs = sys.argv[2] if len(sys.argv) > 2 else "2"
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        runs = Path(folder) / "runs"
        for number in range(count):
            make(runs / f"group{number % 10}" / f"run{number:04d}", number)
        adopt_orphans()
        for name in ("cold", "warm"):
            wall, cpu, found, remembered = timed(runs, Path(folder) / "cache", jobs)
            took = f"{wall:.1f} s by the clock, {cpu:.1f} s of CPU with {jobs} processes"
            print(f"{name}: {found} runs, {remembered} remembered, {took}", flush=True)


def make(folder: Path, seed: int) -> None:
    """One small run that ended an hour ago."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    rows = ["step,loss,lr,grad_norm,val_loss"]
    for step in range(0, 2000, 10):
        loss = 0.1 + 2 / (1 + step / 10) + rng.gauss(0, 0.02)
        loss = float("nan") if seed % 10 == 0 and step > 1500 else loss
        loss = loss * 1.05 ** max(0, (step - 1200) / 10) if seed % 20 == 5 else loss
        rows.append(
            f"{step},{loss:.5f},{1e-3 * (1 - step / 2000):.6g},{1 + rng.random():.4f},{loss + 0.1:.5f}"
        )
    (folder / "train.csv").write_text("\n".join(rows) + "\n")
    (folder / "config.yaml").write_text(f"lr: 0.001\nbatch_size: 32\nmax_steps: 2000\nseed: {seed}\n")
    then = time.time() - AN_HOUR
    for file in folder.iterdir():
        os.utime(file, (then, then))


def adopt_orphans() -> None:
    """On Linux: adopt the processes that the command leaves behind, so that they count."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def timed(runs: Path, cache: Path, jobs: str) -> tuple[float, float, int, int]:
    """Seconds by the clock, seconds of CPU of all processes, and how many runs were found and remembered."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "stethoscope", "triage", str(runs), "--format", "json", "--jobs", jobs]
    done = subprocess.run([*command, "--cache", str(cache)], capture_output=True, check=False)
    wall = time.monotonic() - begun
    with suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = json.loads(done.stdout)
    return wall, cpu, len(told["runs"]), told["remembered"]


if __name__ == "__main__":
    main()
