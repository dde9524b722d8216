"""How long a text log of 100,000 steps takes to read: CPU time and peak memory of a fresh process.

    python benchmarks/read_text_log.py [steps]

Prints one line per format. The logs are generated in the formats' real shapes, about 20 MB for BasicSR.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def basicsr(steps: int) -> Iterator[str]:
    """traiNNer-redux: an iteration line a step, a validation record every thousand."""
    noise = random.Random(0)
    yield "2025-11-29 14:20:10,000 INFO: Start training from epoch: 0, iter: 0.\n"
    for step in range(1, steps + 1):
        l1, ssim = 0.02 + 0.001 * noise.random(), 0.045 + 0.001 * noise.random()
        yield (
            f"2025-11-29 14:20:11,001 INFO: [epoch:{step // 1000:4,d}, iter:{step:8,d}, lr:(5.000e-05)] "
            f"[performance: {26 + noise.random():.3f} it/s] [eta: 0:{step % 60:02d}:00] [peak VRAM: 1.71 GB] "
            f"l_g_l1: {l1:.4e} l_g_ssim: {ssim:.4e} l_g_total: {l1 + ssim:.4e} "
            f"grad_norm_g: {noise.random():.4e} scale_g: {65536.0:.4e} \n"
        )
        if step % 1000 == 0:
            yield "2025-11-29 14:20:12,000 INFO: Validation Set5\n"
            yield f"\t # psnr: {30 + noise.random():.4f}\tBest: 31.0000 @ {1000:9,d} iter\n\n"


def nanogpt(steps: int) -> Iterator[str]:
    """nanoGPT: a line a step, an evaluation every 250."""
    noise = random.Random(0)
    for step in range(steps):
        if step % 250 == 0:
            yield f"step {step}: train loss {3 + noise.random():.4f}, val loss {3 + noise.random():.4f}\n"
        yield f"iter {step}: loss {3 + noise.random():.4f}, time {12 + noise.random():.2f}ms, mfu 40.12%\n"


def csv_table(steps: int) -> Iterator[str]:
    """Ten columns of full-precision values."""
    noise = random.Random(0)
    yield "step," + ",".join(f"loss_{i}" for i in range(9)) + "\n"
    for step in range(steps):
        yield f"{step}," + ",".join(repr(noise.random()) for _ in range(9)) + "\n"


def jsonl(steps: int) -> Iterator[str]:
    """Six values a line."""
    noise = random.Random(0)
    for step in range(steps):
        loss, norm = noise.random(), noise.random()
        yield f'{{"step": {step}, "loss": {loss}, "grad_norm": {norm}, "lr": 3e-4, "epoch": {step / 1000}}}\n'


FORMATS: dict[str, Callable[[int], Iterator[str]]] = {
    "basicsr.log": basicsr,
    "nanogpt.log": nanogpt,
    "table.csv": csv_table,
    "lines.jsonl": jsonl,
}


def measure(path: Path) -> None:
    """Read one log in this process and print what it cost."""
    from stethoscope.logs import read_log

    before = time.process_time()
    log = read_log(path)
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    print(f"{path.name:12} {size:6.1f} MB {log.points:9,d} points {seconds:6.2f} s CPU {peak:5.0f} MB peak")


def main() -> None:
    """Generate every log and measure each in a process of its own."""
    if len(sys.argv) == 3 and sys.argv[1] == "--read":
        measure(Path(sys.argv[2]))
        return
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        for name, generate in FORMATS.items():
            path = Path(folder) / name
            with path.open("w") as stream:
                stream.writelines(generate(steps))
            subprocess.run([sys.executable, __file__, "--read", str(path)], check=True)


if __name__ == "__main__":
    main()
