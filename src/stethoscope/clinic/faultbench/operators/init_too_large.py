"""The initial weights are far too large."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("init-too-large", Kind.SOURCE, or_else=("learning-rate-too-high", "gradient-growth"))
