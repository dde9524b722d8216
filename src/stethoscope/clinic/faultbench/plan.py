"""Which runs are made: healthy ones, ones that only look sick, one fault, and two."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import cycle, islice

import numpy as np

from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.specimen import Planted, Specimen, fits
from stethoscope.clinic.faultbench.task import Form, Task

HEALTHY = 40  # runs of each task without a fault; a consequence needs 20 to compare with
BENIGN = 8  # runs of each harmless form and level
A_CELL = 5  # runs of each fault and level, over the ways to write it
DOUBLE = 0.30  # as many runs with two faults as this share of those with one
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
    yield from (Specimen(task, (), seed) for seed in range(HEALTHY))
    singles = []
    for form in task.forms:
        if operators()[form.operator].operator.benign:
            for level in range(len(form.levels)):
                yield from (Specimen(task, (Planted(form, level),), seed) for seed in range(BENIGN))
    for forms in _by_operator(task).values():
        singles += list(_single(task, forms))
    yield from singles
    yield from _double(task, round(DOUBLE * len(singles)))


def _by_operator(task: Task) -> dict[str, list[Form]]:
    found = defaultdict(list)
    for form in task.forms:
        if not operators()[form.operator].operator.benign:
            found[form.operator].append(form)
    return found


def _single(task: Task, forms: list[Form]) -> Iterator[Specimen]:
    """The runs of one operator: at each level its forms in turn, each with a seed of its own."""
    for level in range(max(len(form.levels) for form in forms)):
        able = [form for form in forms if level < len(form.levels)]
        count = max(A_CELL, 2 * len(able))
        for number, form in enumerate(islice(cycle(able), count)):
            yield Specimen(task, (Planted(form, level),), 100 * (level + 1) + number)


def _double(task: Task, count: int) -> Iterator[Specimen]:
    """Two faults at once, drawn at random from those that can be planted together."""
    rng = np.random.default_rng(zlib.crc32(f"two faults in {task.name}".encode()))
    forms = [form for form in task.forms if not operators()[form.operator].operator.benign]
    made = 0
    for attempt in range(20 * count):
        if made == count:
            return
        first, second = (forms[int(index)] for index in rng.integers(len(forms), size=2))
        levels = [int(rng.integers(len(form.levels))) for form in (first, second)]
        planted = (Planted(first, levels[0]), Planted(second, levels[1]))
        specimen = Specimen(task, planted, ONLY_DOUBLE + attempt)
        if first.operator != second.operator and fits(specimen):
            made += 1
            yield specimen


def _kind(specimen: Specimen) -> str:
    if not specimen.planted:
        return "healthy"
    if len(specimen.planted) > 1:
        return "double"
    return "benign" if operators()[specimen.planted[0].form.operator].operator.benign else "single"


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
