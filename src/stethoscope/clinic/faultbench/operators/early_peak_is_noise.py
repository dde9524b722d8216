"""A small validation set makes the best score a matter of luck."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("early-peak-is-noise", Kind.SETTINGS, benign=True)
