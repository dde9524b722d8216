"""Other weights are evaluated than those that are kept."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("wrong-weights-evaluated", Kind.SOURCE, or_else=("ema-too-slow", "ema-not-updated"))
