"""A fidelity metric falls where the adversarial stage begins, as it does."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("adversarial-stage", Kind.SETTINGS, benign=True)
