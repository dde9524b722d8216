"""Padding counts in the loss."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("padding-dilutes-loss", Kind.SOURCE)
