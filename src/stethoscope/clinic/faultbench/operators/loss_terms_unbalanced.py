"""One term of the loss drowns the others."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-terms-unbalanced", Kind.SETTINGS, or_else=("objective-metric-mismatch",))
