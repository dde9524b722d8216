"""Weight decay is so strong that it holds the weights down."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("weight-decay-wrong", Kind.SETTINGS)
