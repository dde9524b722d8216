"""The learning rate is too high."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "learning-rate-too-high",
    Kind.SETTINGS,
    or_else=("warmup-too-short", "clipping-missing", "gradient-growth"),
)
