"""Gradients are clipped so hard that the network hardly moves."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("clip-too-tight", Kind.SETTINGS, or_else=("learning-rate-too-low",))
