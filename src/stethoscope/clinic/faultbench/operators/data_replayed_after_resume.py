"""A resume draws the same samples again."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("data-replayed-after-resume", Kind.SOURCE)
