"""The schedule is stepped in other units than it is counted in.

## How it works
Lengths in epochs, stepped with every batch, are over within the first epoch: the rate vanishes or swings.
Lengths in steps, stepped once an epoch, hardly begin.

## How to tell it from its look-alikes
The logged rate is the right curve at the wrong speed, by a factor of the batches in an epoch.

## What cures it
Step where the lengths are counted, or multiply them by the batches in an epoch.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="The schedule is stepped in the wrong units",
    prior=COMMON,
    evidence=(
        Evidence("at-its-end-at-once", DECISIVE, "a number is at the end of its way after one round"),
        Evidence(
            "loss-falls-little", STRONG, "the rate is what a schedule leaves at its end", when=says("no_rate")
        ),
        Evidence("loss-falls-little", MODERATE, "on every line of the log", when=says("no_rate")),
        Evidence("plateau-asked-every-batch", DECISIVE, "the patience of the schedule counts batches"),
        Evidence("rate-rises-from-zero", STRONG, "the rate comes back after the end of its schedule"),
        Evidence("schedule-counts-samples", DECISIVE, "its length counts samples, and a step takes many"),
        Evidence(
            "schedule-in-wrong-units", DECISIVE, "its lengths count other rounds than those it is stepped in"
        ),
        Evidence("fraction-for-steps", DECISIVE, "a fraction of the run is taken for a number of steps"),
        Evidence("rate-spent-early", DECISIVE, "the rate is spent long before the end"),
        Evidence("schedule-over-early", DECISIVE, "the computed course is over in the first part of the run"),
        Evidence(
            "schedule-at-another-speed",
            DECISIVE,
            "the logged rate is the right curve at the wrong speed, by a number that this training has",
        ),
        Evidence("cosine-shorter-than-run", STRONG, "its period fits many times into the run"),
        Evidence(
            "cosine-shorter-than-run",
            STRONG,
            "and does so in whatever it is counted",
            when=says("in_any_unit"),
        ),
        Evidence("schedule-ignores-accumulation", DECISIVE, "it counts batches and is moved with updates"),
        Evidence("schedule-counts-batches", DECISIVE, "its length is the number of batches, not of updates"),
        Evidence(
            "schedule-in-wrong-units", -STRONG, "lengths and steps are in one unit", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="plot the learning rate over the whole run",
    shows=("loss-plateau", "learning-rate-jump"),
)
