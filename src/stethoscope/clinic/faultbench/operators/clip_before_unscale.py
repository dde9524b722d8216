"""Gradients are clipped while they are still scaled."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("clip-before-unscale", Kind.SOURCE, or_else=("clip-too-tight",))
