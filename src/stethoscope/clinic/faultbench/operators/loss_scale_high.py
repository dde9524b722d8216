"""The loss scale is high because the gradients are small."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-scale-high", Kind.SETTINGS, benign=True)
