"""Validation samples are among the training samples."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("validation-leak", Kind.DATA)
