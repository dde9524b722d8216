"""Labels are wrong for a part of the samples."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("labels-wrong", Kind.DATA)
