"""The rate stays high to the end and the score with it."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("learning-rate-not-decayed", Kind.SETTINGS)
