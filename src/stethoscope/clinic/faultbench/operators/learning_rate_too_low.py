"""The learning rate is too low."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("learning-rate-too-low", Kind.SETTINGS)
