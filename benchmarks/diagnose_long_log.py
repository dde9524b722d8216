"""How long a diagnosis of a 100,000-step, 20 MB text log takes, end to end, and how much memory.

    python benchmarks/diagnose_long_log.py

The log is written in the format of BasicSR and traiNNer-redux. The figures are the wall and CPU seconds
and the peak memory of a fresh `stethoscope` process, beside those of one that only reads the file's bytes
with Python, which tells how fast the machine is.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 100_000
REPEATS = 3
READ_BYTES = "import sys; print(len(open(sys.argv[1], 'rb').read().split(b'\\n')))"


def main() -> None:
    """Write the log, measure, print a table."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train_long_20260101_000000.log"
        log.write_text("".join(lines()), encoding="utf-8")
        print(f"{log.stat().st_size / 1e6:.1f} MB, {STEPS:,} steps")
        print(f"{'':24}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}")
        for name, command in {
            "reading the bytes": [sys.executable, "-c", READ_BYTES, str(log)],
            "stethoscope diagnose": [sys.executable, "-m", "stethoscope", folder, "--format", "json"],
        }.items():
            wall, cpu, peak = min(measured(command) for _ in range(REPEATS))
            print(f"{name:24}{wall:8.2f}{cpu:8.2f}{peak:9.0f}")


def lines() -> list[str]:
    """A healthy training: a power law with noise, a step decay of the rate, a validation every 1,000."""
    noise = random.Random(0)
    written = []
    for step in range(1, STEPS + 1):
        loss = (0.05 + 0.9 * step**-0.4) * math.exp(noise.gauss(0, 0.03))
        rate = 2e-4 * 0.5 ** (step // 40_000)
        clock = f"2026-01-01 {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d},001 INFO: "
        written.append(
            f"{clock}[epoch:{step // 1000:4,d}, iter:{step:8,d}, lr:({rate:.3e})] [performance: 26.101 it/s] "
            f"[eta: 1:02:03] [peak VRAM: 1.71 GB] l_g_l1: {loss * 0.9:.4e} l_g_ssim: {loss * 0.1:.4e} "
            f"l_g_total: {loss:.4e} grad_norm_g: {loss * 0.3:.4e} scale_g: 6.5536e+04 \n"
        )
        if step % 1000 == 0:
            psnr = 33 - 6 * step**-0.2 + noise.gauss(0, 0.02)
            written.append(
                f"{clock}Validation Set5\n\t # psnr : {psnr:.4f}\tBest: {psnr:.4f} @ {step:9,d} iter\n\n"
            )
    return written


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MB of one process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
