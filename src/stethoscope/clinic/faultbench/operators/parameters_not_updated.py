"""A part of the network is not given to the optimizer."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("parameters-not-updated", Kind.SOURCE, or_else=("graph-broken",))
