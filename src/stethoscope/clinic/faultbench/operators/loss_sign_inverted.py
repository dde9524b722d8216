"""A similarity is minimised, or a distance maximised."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-sign-inverted", Kind.SOURCE, or_else=("objective-metric-mismatch",))
