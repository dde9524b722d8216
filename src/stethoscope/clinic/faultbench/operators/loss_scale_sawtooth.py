"""The loss scale meets its ceiling again and again, as it is meant to."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("loss-scale-sawtooth", Kind.SETTINGS, benign=True)
