"""Gradients of earlier batches are never cleared."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("gradients-not-cleared", Kind.SOURCE, or_else=("accumulation-wrong",))
