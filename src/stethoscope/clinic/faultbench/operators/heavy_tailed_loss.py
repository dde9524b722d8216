"""Some samples are hard, and their batches stand out."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("heavy-tailed-loss", Kind.DATA, benign=True)
