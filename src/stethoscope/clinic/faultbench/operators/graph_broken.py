"""A detach or an item() cuts the gradient off."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("graph-broken", Kind.SOURCE, or_else=("parameters-not-updated",))
