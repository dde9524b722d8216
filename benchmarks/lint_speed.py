"""How long `stethoscope lint` takes: CPU time of all rules over whole folders, reading included.

    python benchmarks/lint_speed.py FOLDER [FOLDER ...] [--slowest 5]

Each folder is linted in a process of its own, so that nothing is remembered from one to the next. For each,
the lines that were read, the CPU seconds, the seconds for 100,000 lines and the slowest rules are printed; a
rule is charged with the facts that it is the first to ask for. Time is the process's own, not the clock's,
and yet a busy machine makes it up to twice as long: compare figures of one sitting. As after an installation,
Python finds the bytecode of the rules and need not compile them, whatever the environment says.

To repeat: fetch the sources of well-kept packages and give their folders.

    for name in ultralytics timm trl peft accelerate lightning speechbrain diffusers transformers; do
        pip download --no-deps --dest wheels $name
    done
    for wheel in wheels/*.whl; do unzip -q -d sources/$(basename $wheel .whl) $wheel; done
    python benchmarks/lint_speed.py sources/*
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from stethoscope.findings import Finding, RuleEntry
from stethoscope.signals import Missing, Signals

GOAL = 10.0  # seconds for 100,000 lines
SMALL = Path(__file__).parent / "lint_faults" / "derain_diff"  # has source and settings


def main() -> None:
    """Print a row for each folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--slowest", type=int, default=5, help="rules to name for each folder")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        print(_row(asked.folders[0], asked.slowest), flush=True)
        return
    print(f"{'lines':>9}  {'CPU s':>6}  {'s/100k':>6}  folder: slowest rules (goal: {GOAL:g} s/100k)")
    with tempfile.TemporaryDirectory() as bytecode:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, __file__, "--here", "--slowest", str(asked.slowest)]
        subprocess.run([*command, str(SMALL)], env=environment, check=True, stdout=subprocess.DEVNULL)
        for folder in asked.folders:
            subprocess.run([*command, folder], env=environment, check=False)


def _row(folder: str, most: int) -> str:
    from stethoscope.lint import lint, sharing_out
    from stethoscope.lint.collecting import collect_rarely_to_the_end

    collect_rarely_to_the_end()  # as the command does
    took: Counter[str] = Counter()
    apply = sharing_out.apply

    def timed(rule: RuleEntry, signals: Signals) -> tuple[Finding, ...] | Missing:
        start = time.process_time()
        outcome = apply(rule, signals)
        took[rule.code] += time.process_time() - start
        return outcome

    sharing_out.apply = timed
    start = time.process_time()
    report = lint([folder])
    seconds = time.process_time() - start
    slowest = ", ".join(f"{code} {spent:.1f}" for code, spent in took.most_common(most))
    each = seconds * 100_000 / max(report.lines, 1)
    return f"{report.lines:>9,}  {seconds:>6.1f}  {each:>6.1f}  {folder}: {slowest}"


if __name__ == "__main__":
    main()
