"""A benign case: a high loss scale, a dynamic loss scheduler and a cosine beside averaged weights.

It is nano-sr with both of its cures, and with the schedule that one write-up asks for and another forbids.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Role
from stethoscope.clinic.cases.nano_sr import case as nano_sr
from stethoscope.clinic.cases.nano_sr.cure import CURE, PROJECT, SOURCES
from stethoscope.clinic.edit import Edit

SETTINGS = "options/nano_sr_healthy.yml"
# What the write-ups propose against each of the three, and what cannot act.
PROPOSED = ("no-dynamic-loss", "scale-at-4096", "bf16", "no-average", "comment", "other-start")


def _proposed(change: Change) -> Change:
    """A change of the sick run, made to this one."""
    edits = tuple(
        Edit(SETTINGS, edit.old, edit.to, edit.why) if edit.file == nano_sr.SHORT else edit
        for edit in change.edits
    )
    return Change(change.name, change.title, change.role, edits, change.claims, ("no effect",))


CASE = Case(
    name="nano-sr-healthy",
    title="A healthy super-resolution run that looks alarming",
    story=(
        "The loss scale climbs to a million, a dynamic loss scheduler is at work, and a cosine runs beside "
        "averaged weights. Write-ups blame all three. The run improves to its end, and nothing is wrong "
        "with it."
    ),
    project=PROJECT,
    sources=(*SOURCES, SETTINGS, "judge.py"),
    command=nano_sr.command(SETTINGS),
    run="experiments/nano_sr_healthy",
    evaluate=nano_sr.CASE.evaluate,
    metric=nano_sr.CASE.metric,
    changes=(
        Change(
            "multi-step",
            "MultiStepLR instead of CosineAnnealingLR, which averaged weights are said not to bear",
            Role.ADVICE,
            (Edit(SETTINGS, nano_sr.COSINE.to, nano_sr.COSINE.old, "compatible with EMA"),),
            claims=("001.4", "001.5"),
            predicted=("no effect",),
        ),
        *(_proposed(change) for change in nano_sr.CASE.changes if change.name in PROPOSED),
    ),
    sizes=nano_sr.sizes(SETTINGS, CURE),
    exaggerated=nano_sr.CASE.exaggerated,
    benign=True,
)
