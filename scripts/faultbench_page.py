"""The page about FaultBench, from the record of its last call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from stethoscope.clinic.faultbench import comparing
from stethoscope.clinic.faultbench.bench import HELD_OUT, Result
from stethoscope.clinic.faultbench.comparing import Compared
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.record import Record, read_record
from stethoscope.clinic.faultbench.reliability_picture import picture
from stethoscope.clinic.faultbench.scoring import Figures, Share
from stethoscope.clinic.faultbench.split import Part
from stethoscope.figures import svg

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "benchmarks" / "faultbench.json"
PAGE = ROOT / "docs" / "benchmarks" / "faultbench.md"
PICTURE = ROOT / "docs" / "pictures" / "faultbench-reliability.svg"
GENERATED = "<!-- Written by scripts/docs from faultbench.json; measure again instead. -->"
FEWEST_WELL = 500  # healthy and benign runs, without which a false-alarm rate says little

COUNTED = """*Flagged*, *first* and *in three* count the faults that do harm, as measured; those of *planted*
count every fault, harmful or not. Healthy runs and those that only look sick are counted under false
alarms."""
ALONE = """Where it was planted alone, on the part that may be tuned on. Faults that are held out are not
listed: whoever looks at them one by one has tuned on them."""
BESIDE = """The same runs, each tool in its own interpreter, with its defaults. They read logs only, so the
log of each run was written for them as the table or the trainer state that they document, with the names of
columns that they know, once with every step and once with a row for each evaluation
([plain_log.py](../../src/stethoscope/clinic/faultbench/plain_log.py)). A finding of theirs counts as right
where any of the causes that it lists or proposes to check is one
([the tables](../../src/stethoscope/clinic/faultbench/peers)). *prior-only* always says what is planted most
often, *random-ranking* throws a coin."""
GRAVE = " *Grave* counts the gravest verdict of each tool alone: sick, critical, error, fail."
FITTED = """The temperature is fitted on the tuning part only, by the log loss of the first cause
(`scripts/calibrate.py`)."""
COMMANDS = """    stethoscope clinic bench --tier full --into bench --peers peers \\
        --record docs/benchmarks/faultbench.json
    scripts/docs"""

Measure = Callable[[Figures], Share | float]
GOALS: tuple[tuple[str, str, str, Evidence, Measure], ...] = (
    ("consequential faults flagged", ">= 0.92", HELD_OUT, Evidence.ALL, lambda found: found.flagged),
    ("right cause first", ">= 0.80", HELD_OUT, Evidence.ALL, lambda found: found.first),
    ("right cause in the first three", ">= 0.93", HELD_OUT, Evidence.ALL, lambda found: found.first_three),
    (
        "the same, first, on tasks never tuned on",
        ">= 0.72",
        Part.NEW_TASK.value,
        Evidence.ALL,
        lambda found: found.first,
    ),
    (
        "the same, in the first three",
        ">= 0.88",
        Part.NEW_TASK.value,
        Evidence.ALL,
        lambda found: found.first_three,
    ),
    ("logs alone, first", ">= 0.62", HELD_OUT, Evidence.LOGS, lambda found: found.first),
    ("logs alone, in the first three", ">= 0.82", HELD_OUT, Evidence.LOGS, lambda found: found.first_three),
    (
        "healthy and benign runs called sick or at-risk",
        "<= 0.01",
        HELD_OUT,
        Evidence.ALL,
        lambda found: found.false_alarms,
    ),
    ("calibration error (ECE)", "<= 0.08", HELD_OUT, Evidence.ALL, lambda found: found.calibration_error),
    (
        "advised checkpoint within noise of the best",
        ">= 0.95",
        HELD_OUT,
        Evidence.ALL,
        lambda found: found.checkpoint,
    ),
)


def faultbench_pages() -> Iterator[tuple[Path, str]]:
    """The page and its picture; a page that says so where nothing was recorded."""
    record = read_record(RECORD) if RECORD.exists() else None
    parts = _told(record) if record else iter(["Nothing was recorded yet.", _repeat()])
    yield PAGE, "\n\n".join(["# FaultBench: how often it is right", GENERATED, *parts]) + "\n"
    if record and any(record.reliability.values()):
        yield PICTURE, svg.render(picture(record.reliability))


def _told(record: Record) -> Iterator[str]:
    yield "\n".join(_covers(record))
    yield "## The goals"
    yield _table(("", "goal", "measured"), _goals(record))
    yield "## By part and evidence"
    yield COUNTED
    yield _figures("part", record.parts, evidence=True)
    yield "## By task"
    yield _figures("task", record.tasks)
    yield "## By fault"
    yield ALONE
    yield _figures("operator", record.operators)
    yield from _peers(record)
    yield from _reliability(record)
    yield _repeat()


def _covers(record: Record) -> Iterator[str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in record.kinds.items())
    yield f"Measured on {record.date} with Stethoscope {record.version}: {record.runs} runs ({kinds}) of"
    yield f"{len(record.tasks)} trainings. [How it works](../how-to/bench.md)."
    sick = sum(one.figures.planted_flagged.of for one in record.tasks)
    well = sum(one.figures.false_alarms.of for one in record.tasks)
    if record.harm_known < sick:
        yield ""
        yield "**This is not the full bench.** Whether a fault does harm takes 5 runs and 20 healthy ones"
        yield f"to know; here that is known for {record.harm_known} of {sick} sick runs."
    if well < FEWEST_WELL:
        yield f"A rate of false alarms takes {FEWEST_WELL} runs in which nothing is wrong; here are {well}."


def _goals(record: Record) -> Iterator[tuple[str, ...]]:
    found = {(one.part, one.evidence): one.figures for one in record.parts}
    for name, goal, part, evidence, measure in GOALS:
        figures = found.get((part, evidence))
        shown = _shown(measure(figures)) if figures else "-"
        yield name, goal, "not measured" if shown == "-" else shown


def _figures(heading: str, results: Sequence[Result], evidence: bool = False) -> str:
    headings = [heading, *(["evidence"] if evidence else []), "runs", "flagged", "first", "in three"]
    headings += [
        "planted: flagged",
        "planted: first",
        "planted: in three",
        "false alarms",
        "ECE",
        "checkpoint",
    ]
    rows = []
    for one in results:
        told = one.figures
        shares = (told.flagged, told.first, told.first_three)
        planted = (told.planted_flagged, told.planted_first, told.planted_first_three)
        rest = (told.false_alarms, told.calibration_error, told.checkpoint)
        said = [one.part, *([one.evidence.value] if evidence else []), str(one.runs)]
        rows.append((*said, *(_shown(value) for value in (*shares, *planted, *rest))))
    return _table(tuple(headings), iter(rows))


def _peers(record: Record) -> Iterator[str]:
    yield "## Beside other tools"
    if not any(one.tool != comparing.OURS for one in record.tools):
        yield "No other tool was asked."
        return
    yield BESIDE
    yield comparing.LEGEND + GRAVE
    yield "### All runs"
    yield _compared(record.tools)
    yield "### What is held out"
    yield _compared(record.held_out_tools)
    unheard = [one for one in record.tools if one.version and one.answered.right < one.answered.of]
    if unheard:
        said = ", ".join(
            f"{one.tool} ({one.reads}) {one.answered.of - one.answered.right}" for one in unheard
        )
        yield f"Runs without an answer, counted as silence: {said}."


def _compared(every: Sequence[Compared]) -> str:
    return _table(comparing.HEADINGS, comparing.rows(every))


def _reliability(record: Record) -> Iterator[str]:
    yield "## Probabilities"
    if not any(record.reliability.values()):
        yield "No cause was named."
        return
    yield f"![How often probabilities come true](../pictures/{PICTURE.name})"
    scale = (
        "as the evidence adds up"
        if record.temperature == 1.0
        else f"at the temperature {record.temperature:.2f}"
    )
    yield f"The first cause of every run that has one, {scale}. {FITTED}"


def _repeat() -> str:
    return f"## To repeat it\n\n{COMMANDS}"


def _shown(value: Share | float) -> str:
    if isinstance(value, Share):
        return f"{value.value:.2f} ({value.right}/{value.of})" if value.of else "-"
    return "-" if math.isnan(value) else f"{value:.3f}"


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [tuple(head), tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
