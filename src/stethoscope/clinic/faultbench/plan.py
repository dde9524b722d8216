"""Which runs are made: healthy ones, ones that only look sick, one fault, and two."""

from __future__ import annotations

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle, islice

import numpy as np

from stethoscope.clinic.faultbench.consequence import Cell
from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.specimen import Planted, Specimen, fits
from stethoscope.clinic.faultbench.split import ADDED, TASKS
from stethoscope.clinic.faultbench.task import Form, Task, tasks

HEALTHY = 36  # runs of each task without a fault; a consequence needs 20 to compare with
BENIGN = 6  # runs of each harmless form and level
CELLS = 3  # places for each fault: levels from mild to severe, each in a task of its own where it can be
A_CELL = 5  # runs of each cell, over the ways to write the fault
DOUBLE = 0.25  # as many runs with two faults as this share of all others: a fifth of the bench
ONLY_DOUBLE = 20_000  # seeds of runs with two faults begin here
CI_SIZE = 150
CI_SHARES = {"healthy": 0.30, "benign": 0.15, "single": 0.35, "double": 0.20}


def full(tasks: Iterable[Task]) -> list[Specimen]:
    """Every run of the full bench."""
    return [specimen for task in tasks for specimen in _of(task)]


def small(tasks: Iterable[Task]) -> list[Specimen]:
    """The runs that CI scores."""
    return sample(full(tasks))


def sample(every: Iterable[Specimen]) -> list[Specimen]:
    """Some of the full bench: every task, every kind of fault, every level."""
    kinds = defaultdict(list)
    for specimen in every:
        kinds[_kind(specimen)].append(specimen)
    chosen: list[Specimen] = []
    for kind, share in CI_SHARES.items():
        chosen += _spread(kinds[kind], round(share * CI_SIZE), chosen)
    return chosen


def _of(task: Task) -> Iterator[Specimen]:
    cells = [(operator, level) for home, operator, level in cells_of_the_bench() if home == task.name]
    others = [*_nothing_wrong(task), *(one for cell in cells for one in _single(task, *cell))]
    yield from others
    yield from _double(task, cells, math.ceil(DOUBLE * len(others)))


def _nothing_wrong(task: Task) -> Iterator[Specimen]:
    yield from (Specimen(task, (), seed) for seed in range(HEALTHY))
    for form in task.forms:
        if _is_benign(form):
            for level in range(len(form.levels)):
                yield from (Specimen(task, (Planted(form, level),), seed) for seed in range(BENIGN))


@cache
def cells_of_the_bench() -> tuple[Cell, ...]:
    """Where each fault is planted: one of its tasks is never tuned on where it has such a task."""
    found: set[Cell] = set()
    homes = _homes_of_faults()
    for operator in sorted(homes):
        able = sorted(homes[operator], key=lambda home: zlib.crc32(f"{operator} in {home}".encode()))
        new, tuned = ([home for home in able if (home in TASKS) is wanted] for wanted in (True, False))
        turns = cycle([*tuned[: CELLS - 1], *new[:1]] if new else tuned[:CELLS])
        start = zlib.crc32(operator.encode())
        for number, home in enumerate(islice(turns, CELLS)):
            found.add((home, operator, (start + number) % homes[operator][home]))
    return tuple(sorted(found | set(_cells_of_added_tasks())))


def _cells_of_added_tasks() -> Iterator[Cell]:
    """Every fault that a task can have which was added later: what was planned before stays as it is."""
    for operator, homes in _homes_of_faults(added=True).items():
        for home, levels in homes.items():
            yield home, operator, zlib.crc32(f"{operator} in {home}".encode()) % levels


def _homes_of_faults(added: bool = False) -> dict[str, dict[str, int]]:
    """For each fault the tasks that can have it, and at how many levels: those added later, or the others."""
    homes: dict[str, dict[str, int]] = defaultdict(dict)
    for task in tasks().values():
        for form in task.forms:
            if (task.name in ADDED) is added and not _is_benign(form):
                levels = homes[form.operator].get(task.name, 0)
                homes[form.operator][task.name] = max(levels, len(form.levels))
    return homes


def _is_benign(form: Form) -> bool:
    return operators()[form.operator].operator.benign


def _able(task: Task, operator: str, level: int) -> list[Form]:
    return [form for form in task.forms if form.operator == operator and level < len(form.levels)]


def _single(task: Task, operator: str, level: int) -> Iterator[Specimen]:
    """The runs of one cell: its forms in turn, each with a seed of its own."""
    able = _able(task, operator, level)
    for number, form in enumerate(islice(cycle(able), max(A_CELL, len(able)))):
        yield Specimen(task, (Planted(form, level),), 100 * (level + 1) + number)


def _double(task: Task, cells: list[tuple[str, int]], count: int) -> Iterator[Specimen]:
    """Two faults at once, drawn at random from those that are planted alone, too, and go together."""
    rng = np.random.default_rng(zlib.crc32(f"two faults in {task.name}".encode()))
    made = 0
    for attempt in range(20 * count):
        if made == count:
            return
        drawn = [cells[int(index)] for index in rng.integers(len(cells), size=2)]
        forms = [able[int(rng.integers(len(able)))] for able in (_able(task, *cell) for cell in drawn)]
        planted = tuple(Planted(form, level) for form, (_, level) in zip(forms, drawn, strict=True))
        specimen = Specimen(task, planted, ONLY_DOUBLE + attempt)
        if drawn[0][0] != drawn[1][0] and fits(specimen):
            made += 1
            yield specimen


def _kind(specimen: Specimen) -> str:
    if not specimen.planted:
        return "healthy"
    if len(specimen.planted) > 1:
        return "double"
    return "benign" if _is_benign(specimen.planted[0].form) else "single"


def _spread(specimens: list[Specimen], count: int, before: list[Specimen]) -> list[Specimen]:
    """Some of them, task by task in turn: first what `before` and this sample have least of."""
    by_task: dict[str, list[Specimen]] = defaultdict(list)
    for specimen in specimens:
        by_task[specimen.task.name].append(specimen)
    homes = _homes(specimens)
    operators, levels = _counted(before)
    chosen: list[Specimen] = []
    for name in cycle(by_task):
        if len(chosen) == count or not any(by_task.values()):
            return chosen
        if not by_task[name]:
            continue
        taken = min(by_task[name], key=lambda one: _how_common(one, operators, levels, homes))
        by_task[name].remove(taken)
        chosen.append(taken)
        operators.update(planted.form.operator for planted in taken.planted)
        levels.update(planted.level for planted in taken.planted)
    return chosen


def _counted(specimens: list[Specimen]) -> tuple[Counter[str], Counter[int]]:
    planted = [one for specimen in specimens for one in specimen.planted]
    return Counter(one.form.operator for one in planted), Counter(one.level for one in planted)


def _homes(specimens: list[Specimen]) -> Counter[str]:
    """In how many tasks each operator is at home: what is rare is taken where it can be had."""
    return Counter(
        operator
        for operator, _ in {
            (planted.form.operator, specimen.task.name)
            for specimen in specimens
            for planted in specimen.planted
        }
    )


def _how_common(
    specimen: Specimen, operators: Counter[str], levels: Counter[int], homes: Counter[str]
) -> tuple[int, int, int, int]:
    """A key that is small for what was seldom taken; a hash of the name decides between equals."""
    names = [planted.form.operator for planted in specimen.planted]
    return (
        sum(operators[name] for name in names),
        sum(homes[name] for name in names),
        sum(levels[planted.level] for planted in specimen.planted),
        zlib.crc32(specimen.name.encode()),
    )
