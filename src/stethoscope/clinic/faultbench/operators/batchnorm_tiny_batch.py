"""Batch norm takes its statistics from two or three samples."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("batchnorm-tiny-batch", Kind.SETTINGS, or_else=("batch-too-small",))
