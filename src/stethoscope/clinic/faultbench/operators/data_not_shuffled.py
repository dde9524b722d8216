"""Samples come in the order in which they lie."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("data-not-shuffled", Kind.SOURCE, or_else=("data-shift",))
