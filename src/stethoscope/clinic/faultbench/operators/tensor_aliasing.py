"""Two names share one tensor, and one changes the other."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("tensor-aliasing", Kind.SOURCE, or_else=("ema-not-updated", "wrong-weights-evaluated"))
