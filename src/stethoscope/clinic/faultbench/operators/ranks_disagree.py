"""Processes decide differently about the same step."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("ranks-disagree", Kind.SOURCE, or_else=("gradients-not-synchronised", "replicas-drift"))
