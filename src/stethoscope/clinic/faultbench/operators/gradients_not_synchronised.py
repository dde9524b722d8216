"""Each process trains a network of its own."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("gradients-not-synchronised", Kind.SOURCE, or_else=("ranks-disagree", "replicas-drift"))
