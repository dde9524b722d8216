"""Gathered gradients are summed instead of averaged, or not gathered."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("accumulation-wrong", Kind.SOURCE, or_else=("learning-rate-too-high",))
