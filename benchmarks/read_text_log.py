"""How fast text logs are read: megabytes per CPU second, beside a compiled regular expression per line.

    python benchmarks/read_text_log.py [megabytes]        100 by default
    python benchmarks/read_text_log.py --gigabyte         one log of 1 GB: CPU time and peak memory

Both readers run in one process, one after the other, three times on the same file; the best of each counts.
The logs are generated in the formats' real shapes. The regular expression knows the layout and gives the same
values; it is what a script written for this one log would do.
"""

from __future__ import annotations

import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 3


def basicsr() -> Iterator[str]:
    """traiNNer-redux: an iteration line a step, a validation record every thousand."""
    noise, step = random.Random(0), 0
    yield "2025-11-29 14:20:10,000 INFO: Start training from epoch: 0, iter: 0.\n"
    while True:
        step += 1
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


def megatron() -> Iterator[str]:
    """Megatron-LM: a line a step, a validation every thousand."""
    noise, step = random.Random(0), 0
    while True:
        step += 1
        yield (
            f" iteration {step:8d}/  500000 | consumed samples: {step * 512:12d} | elapsed time per "
            f"iteration (ms): {300 + 10 * noise.random():.1f} | learning rate: {1e-4 * noise.random():.3E} | "
            f"global batch size:   512 | lm loss: {3 + noise.random():.6E} | loss scale: 65536.0 | "
            f"grad norm: {noise.random():.3f} | number of skipped iterations:   0 | number of nan "
            "iterations:   0 |\n"
        )


def nanogpt() -> Iterator[str]:
    """nanoGPT: a line a step, an evaluation every 250."""
    noise, step = random.Random(0), 0
    while True:
        if step % 250 == 0:
            yield f"step {step}: train loss {3 + noise.random():.4f}, val loss {3 + noise.random():.4f}\n"
        yield f"iter {step}: loss {3 + noise.random():.4f}, time {12 + noise.random():.2f}ms, mfu 40.12%\n"
        step += 1


def printed_dicts() -> Iterator[str]:
    """The dictionaries that the Hugging Face Trainer prints, at full precision."""
    noise, step = random.Random(0), 0
    while True:
        step += 10
        record = {
            "loss": round(3 + noise.random(), 4),
            "grad_norm": 3 * noise.random(),
            "learning_rate": 5e-5 * (1 - step / 1e8),
            "epoch": step / 100_000,
        }
        yield f"{record}\n"


def unknown() -> Iterator[str]:
    """A log in nobody's format."""
    noise, step = random.Random(0), 0
    while True:
        step += 1
        yield (
            f"[12:{step // 60 % 60:02d}:{step % 60:02d}] >> it={step} | L_rec {noise.random():.5f} | "
            f"L_kl {noise.random():.3e} | psnr {20 + noise.random():.2f} dB | lr=1.00e-04\n"
        )


@dataclass(frozen=True)
class Case:
    """A kind of log, and the expression that a script for it would use."""

    name: str
    lines: Callable[[], Iterator[str]]
    pattern: re.Pattern[str]


NUMBER = r"([-+.\deE]+)"
CASES = (
    Case(
        "Megatron-LM",
        megatron,
        re.compile(
            rf" iteration +(\d+)/ +\d+ .*?learning rate: {NUMBER} .*?lm loss: {NUMBER} "
            rf"\| loss scale: {NUMBER} \| grad norm: {NUMBER} \| number of skipped iterations: +(\d+) "
        ),
    ),
    Case("nanoGPT", nanogpt, re.compile(rf"iter (\d+): loss {NUMBER}, time {NUMBER}ms, mfu {NUMBER}%")),
    Case(
        "BasicSR",
        basicsr,
        re.compile(
            rf".*?\[epoch: *(\d+), iter: *([\d,]+), lr:\({NUMBER}\)\].*?performance: {NUMBER} it/s.*? "
            rf"l_g_l1: {NUMBER} l_g_ssim: {NUMBER} l_g_total: {NUMBER} "
            rf"grad_norm_g: {NUMBER} scale_g: {NUMBER}"
        ),
    ),
    Case(
        "printed dictionaries",
        printed_dicts,
        re.compile(
            rf"\{{'loss': {NUMBER}, 'grad_norm': {NUMBER}, 'learning_rate': {NUMBER}, 'epoch': {NUMBER}\}}"
        ),
    ),
    Case(
        "a format of nobody's",
        unknown,
        re.compile(
            rf"\[[\d:]+\] >> it=(\d+) \| L_rec {NUMBER} \| L_kl {NUMBER} \| psnr {NUMBER} dB \| lr={NUMBER}"
        ),
    ),
)


def main() -> None:
    """Write each log, read it both ways, and print a row."""
    if "--gigabyte" in sys.argv:
        gigabyte()
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{'log':22}{'MB':>6}{'MB/s':>8}{'regex MB/s':>12}{'times':>7}{'points':>12}   read as")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = Path(folder) / "train.log"
            write(path, case.lines, megabytes * 1_000_000)
            measure(case, path)


def write(path: Path, lines: Callable[[], Iterator[str]], size: int) -> None:
    """A log of about this size."""
    with path.open("w") as stream:
        written = 0
        for line in lines():
            written += stream.write(line)
            if written > size:
                return


def measure(case: Case, path: Path) -> None:
    """Read a log both ways and print the rates."""
    from stethoscope.logs import read_log

    megabytes = path.stat().st_size / 1e6
    ours, theirs = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        log = read_log(path)
        ours.append(time.process_time() - began)
        began = time.process_time()
        by_expression(path, case.pattern)
        theirs.append(time.process_time() - began)
    print(
        f"{case.name:22}{megabytes:6.0f}{megabytes / min(ours):8.0f}{megabytes / min(theirs):12.0f}"
        f"{min(theirs) / min(ours):7.1f}{log.points:12,}   {log.format}"
    )


def by_expression(path: Path, pattern: re.Pattern[str]) -> list[list[float]]:
    """What a script for this one log would do."""
    rows = []
    with path.open() as stream:
        for line in stream:
            found = pattern.match(line)
            if found:
                rows.append([float(text.replace(",", "")) for text in found.groups()])
    return rows


def gigabyte() -> None:
    """One large log of each kind, read in a fresh process: CPU time and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = Path(folder) / "train.log"
            write(path, case.lines, 1_000_000_000)
            child = subprocess.run(
                [sys.executable, __file__, "--child", str(path)], check=True, capture_output=True, text=True
            )
            print(f"{case.name:22}{child.stdout.strip()}")


def child(path: Path) -> None:
    """Read one log and say what it took."""
    from stethoscope.logs import read_log

    log = read_log(path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    held = 16 * log.points / 1e6
    print(
        f"{used.ru_utime + used.ru_stime:6.1f} s CPU, peak {used.ru_maxrss / 1000:6.0f} MB "
        f"({held:.0f} MB of it are the {log.points:,} points)"
    )


if __name__ == "__main__":
    child(Path(sys.argv[2])) if "--child" in sys.argv else main()
