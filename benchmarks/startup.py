"""How long `stethoscope --help` takes, in CPU time, beside a bare interpreter.

python benchmarks/startup.py [REPEATS]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

BUDGET_MS = 150
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "stethoscope --version": ["-m", "stethoscope", "--version"],
    "stethoscope --help": ["-m", "stethoscope", "--help"],
    "stethoscope rules": ["-m", "stethoscope", "rules"],
}


def main() -> None:
    """Print the median of each, and fail where help is over budget."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    medians = {name: median_ms(arguments, repeats) for name, arguments in COMMANDS.items()}
    for name, milliseconds in medians.items():
        print(f"{name:<24} {milliseconds:6.0f} ms CPU, median of {repeats}")
    sys.exit(medians["stethoscope --help"] >= BUDGET_MS)


def median_ms(arguments: list[str], repeats: int) -> float:
    """The median CPU time of a process, in milliseconds; the first run only warms the caches."""
    times = [cpu_ms(arguments) for _ in range(repeats + 1)]
    return statistics.median(times[1:])


def cpu_ms(arguments: list[str]) -> float:
    """User and system time of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
