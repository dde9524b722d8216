"""Gradients shrink from layer to layer until nothing arrives."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("vanishing-gradients", Kind.SOURCE, or_else=("dead-units",))
