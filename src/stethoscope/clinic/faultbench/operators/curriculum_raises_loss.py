"""The loss rises because its task gets harder."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("curriculum-raises-loss", Kind.SETTINGS, benign=True)
