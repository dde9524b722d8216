"""What is held out is among the training data.

## What it checks
Loaders that are called held-out and made of the training set; two loaders of the same training split, one of
them shuffled; hooks for held-out data that hand out the training set; slices of one array, or parts of one
data set of the hub, that overlap; held-out parts of a text or a list that are cut as the training part is, or
that nothing ever reads, in a program that evaluates; a part of an order beside all of it; a loss over all
nodes of a graph whose held-out ones a mask parts off for the score, and a score of the nodes that are trained
on; windows of a series, one step apart, and rows that were copied first (drawn again, augmented), that are
dealt out at random; rows of patients or test persons that are dealt out one by one; rows that, numbered and
followed through slices, orders, masks and the functions of the program, come into both parts; random splits
that nothing seeds, in a program that resumes from checkpoints.

## Why it matters
The score says how well the data were learned by heart. It follows the training loss, never turns, and
promises what no new data will give. A split that is drawn anew at each start moves samples over with every
resume.

## When it is harmless
A loader that measures the training set and is called so, or stands beside one of another split. A split with
a generator, a `random_state` or a seed that the program sets at its start is the same every time. Windows
that lie end to end, or a series that is cut in two before it is cut into windows, share nothing. Training
rows may be copied once the others are taken away. A table with one row for each person has none on both
sides.

## References
- Kapoor and Narayanan, Leakage and the reproducibility crisis in machine-learning-based science, 2023
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.copied_rows import copied_rows
from stethoscope.program.data.dealt_persons import dealt_persons
from stethoscope.program.data.leaks import leaks, redrawn_splits
from stethoscope.program.data.measured_by_training_part import measured_by_training_part
from stethoscope.program.data.named_parts import cut_alike, left_unread
from stethoscope.program.data.rows.shared import shared_rows
from stethoscope.program.data.whole_graph_losses import whole_losses
from stethoscope.program.data.window_splits import dealt_windows
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="DAT142", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report held-out data that training sees."""
    index = evaluations.index
    found = (*leaks(index), *whole_losses(index), *dealt_windows(index), *copied_rows(index))
    found += (*cut_alike(index), *left_unread(index), *measured_by_training_part(index))
    for leak in {id(one.held_out): one for one in found}.values():
        yield Finding(
            (leak.source.where(leak.held_out), leak.source.where(leak.training)),
            leak.why,
            evidence={"kind": "overlap"},
        )
    told = {(leak.source.file, getattr(leak.held_out, "lineno", 0)) for leak in found}
    for shared in shared_rows(index):
        where = shared.held_out.where
        if shared.measured is None and (shared.held_out.source.file, where.line) not in told:
            yield Finding(
                (where, shared.training.where),
                f"{shared.names[0]} holds rows that {shared.names[1]} has too:"
                f" {shared.share:.0%} of the smaller part, tried on numbered rows",
                evidence={"kind": "overlap"},
            )
            break
    for leak in dealt_persons(index):
        yield Finding(
            (leak.source.where(leak.held_out), leak.source.where(leak.training)),
            leak.why,
            evidence={"kind": "persons"},
        )
    for source, split in redrawn_splits(index):
        yield Finding(
            source.where(split),
            "nothing seeds this split: a resumed run validates on what it was trained on before",
            evidence={"kind": "redrawn"},
        )
