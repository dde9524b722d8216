"""The schedule is moved in other units than it is laid out in."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "schedule-in-wrong-units", Kind.SOURCE, or_else=("schedule-longer-than-run", "learning-rate-too-low")
)
