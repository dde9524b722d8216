"""What source and settings alone say of every fault of FaultBench, without a run.

    python benchmarks/faultbench_source.py [--task deblur] [--operator ema-not-updated]

Every form is planted at its strongest level and the project examined as it stands. Only what may be looked at
is shown: no task, operator or form that is held out. A fault that leaves nothing in source or settings is no
miss here; the curves of its runs are the place to look for it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from stethoscope.causes import Explanation, explain
from stethoscope.causes.verdict import stands
from stethoscope.clinic.faultbench.operator import Kind, OperatorEntry, operators
from stethoscope.clinic.faultbench.specimen import Planted, Specimen, program_of
from stethoscope.clinic.faultbench.split import SEALED, is_held_out
from stethoscope.clinic.faultbench.task import Form, Task, tasks
from stethoscope.findings import examine
from stethoscope.read import read
from stethoscope.signals import measure

READABLE = {Kind.SOURCE, Kind.SETTINGS}


def main() -> None:
    """Print a line for each form, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--operator", action="append", default=[])
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    for task in tasks().values():
        if task.name in SEALED or (asked.task and task.name not in asked.task):
            continue
        if not asked.operator:
            counts[_show(task, "healthy", _explained(Specimen(task, (), 0)), None)] += 1
        for form, operator in _forms(task, asked.operator):
            specimen = Specimen(task, (Planted(form, len(form.levels) - 1),), 0)
            counts[_show(task, specimen.planted[0].name, _explained(specimen), operator)] += 1
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))


def _forms(task: Task, wanted: list[str]) -> Iterator[tuple[Form, OperatorEntry]]:
    for form in task.forms:
        operator = operators()[form.operator]
        if is_held_out(form.operator) or form.held_out or operator.operator.kind not in READABLE:
            continue
        if not wanted or form.operator in wanted:
            yield form, operator


def _explained(specimen: Specimen) -> Explanation:
    with tempfile.TemporaryDirectory() as folder:
        program_of(specimen, Path(folder) / "project")
        return explain(examine(measure(read([Path(folder) / "project"]))))


def _show(task: Task, name: str, explanation: Explanation, operator: OperatorEntry | None) -> str:
    """One line, and the word for it: stands, named, missed; or silent and false for what is well."""
    standing = [cause.name for cause in explanation.causes if stands(cause)]
    if operator is None or operator.operator.benign:
        word = "false" if standing else "silent"
    elif operator.acceptable & set(standing):
        word = "stands"
    else:
        named = {cause.name for cause in explanation.causes[:3]}
        word = "named" if operator.acceptable & named else "missed"
    rules = sorted({found.rule.name for found in explanation.symptoms})
    print(f"{word:7} {task.name:13} {name:50} {', '.join(standing) or '-'} ({', '.join(rules)})", flush=True)
    return word


if __name__ == "__main__":
    main()
