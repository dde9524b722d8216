"""The network learns its samples by heart."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("overfitting", Kind.SETTINGS, or_else=("data-repeats",))
