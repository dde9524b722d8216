"""The three plans over one run, and a warm-up that is longer than the run."""

from __future__ import annotations

from stethoscope.blocks.schedules import SchedulePlan, schedule_points, warmup_factor
from stethoscope.figures.chart import Chart, Line

STEPS, WARMUP = 3700, 300
TOO_LONG = 10_000  # what the mended settings of the protein system asked for


def picture() -> Chart:
    """Draw what each plan gives at every step."""
    plans = {
        "warmup-cosine": SchedulePlan("warmup-cosine", steps=STEPS, warmup=WARMUP, final=0.01),
        "warmup-multistep": SchedulePlan(
            "warmup-multistep", steps=STEPS, warmup=WARMUP, milestones=(1850, 2775), gamma=0.5
        ),
        "trapezoid": SchedulePlan("trapezoid", steps=STEPS, warmup=WARMUP, cooldown=740),
    }
    never = [warmup_factor(step, TOO_LONG) for step in range(STEPS)]
    try:
        SchedulePlan("warmup-cosine", steps=STEPS, warmup=TOO_LONG)
    except ValueError as refused:
        words = str(refused).partition(":")[0]
    return Chart(
        title=f"Three plans for {STEPS} optimizer steps, and one that does not fit",
        x_label="optimizer step",
        y_label="part of the peak learning rate",
        lines=[
            *(Line(name, *schedule_points(plan)) for name, plan in plans.items()),
            Line(f"warm-up of {TOO_LONG}", range(STEPS), never, "dashed", "bad"),
        ],
        y_limits=(0.0, 1.05),
        note=f"ValueError: {words}",
    )
