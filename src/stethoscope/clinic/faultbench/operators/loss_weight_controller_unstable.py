"""The controller of the loss weights feeds back on itself."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-weight-controller-unstable", Kind.SOURCE, or_else=("loss-terms-unbalanced",))
