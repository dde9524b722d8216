"""Where the opinions on FaultBench are wrong: operator by operator, on the part that may be looked at.

    stethoscope clinic bench --tier full --into bench
    python benchmarks/faultbench_errors.py bench [--operator labels-wrong] [--evidence logs]

Runs that are held out are never shown: whoever looks at them has tuned on them.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from stethoscope.clinic.faultbench.bench import kept_opinions, labels_in
from stethoscope.clinic.faultbench.measured import joined, measured_in, recorded
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.scoring import Judged, judged
from stethoscope.clinic.faultbench.split import Part, part_of

NOTHING = "(nothing)"


def main() -> None:
    """Print a table of operators, or the runs of one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--evidence", choices=("all", "logs"), default="all")
    parser.add_argument("--operator", help="show every run of this one; healthy for those without a fault")
    asked = parser.parse_args()
    evidence = Evidence.ALL if asked.evidence == "all" else Evidence.LOGS
    labels = labels_in(asked.folder)
    cells = joined(recorded(), measured_in(labels)).cells
    said = kept_opinions(asked.folder / "opinions.jsonl")[evidence]
    runs = [
        judged(label, said[label.name], cells)
        for label in labels
        if label.name in said and part_of(label) is Part.TUNING and len(label.faults) < 2
    ]
    if asked.operator:
        _show([run for run in runs if _name(run) == asked.operator])
    else:
        _table(runs)


def _name(run: Judged) -> str:
    return run.label.faults[0].operator if run.label.faults else "healthy"


def _table(runs: list[Judged]) -> None:
    by_name: dict[str, list[Judged]] = defaultdict(list)
    for run in runs:
        by_name[_name(run)].append(run)
    headings = ("operator", "runs", "harmful", "flagged", "first", "in three", "said first")
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for name, chosen in sorted(by_name.items()):
        harmful = [run for run in chosen if run.consequential] if chosen[0].label.is_sick else chosen
        flagged = sum(run.opinion.is_alarm for run in harmful)
        first, three = (sum(run.is_right(count) for run in harmful) for count in (1, 3))
        said = Counter(run.opinion.causes[0][0] if run.opinion.causes else NOTHING for run in harmful)
        shown = ", ".join(f"{cause} {count}" for cause, count in said.most_common(3))
        print(f"| {name} | {len(chosen)} | {len(harmful)} | {flagged} | {first} | {three} | {shown} |")


def _show(runs: list[Judged]) -> None:
    for run in runs:
        causes = (
            ", ".join(f"{name} {probability:.2f}" for name, probability in run.opinion.causes[:3]) or NOTHING
        )
        score = "-" if run.label.score is None else f"{run.label.score:.4g}"
        print(f"{run.label.name}: score {score}, {run.opinion.verdict}: {causes}")
        print(f"    {', '.join(run.opinion.findings)}")


if __name__ == "__main__":
    main()
