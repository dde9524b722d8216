"""The best checkpoint is chosen by the training loss."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("checkpoint-chosen-wrongly", Kind.SOURCE)
