"""The epsilon of the optimizer is larger than the gradients."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("optimizer-eps-underflow", Kind.SETTINGS, or_else=("learning-rate-too-low",))
