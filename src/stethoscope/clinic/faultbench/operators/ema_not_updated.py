"""The average of the weights is never moved."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("ema-not-updated", Kind.SOURCE, or_else=("wrong-weights-evaluated", "ema-too-slow"))
