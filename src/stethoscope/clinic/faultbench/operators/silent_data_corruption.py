"""A bit of a weight flips."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "silent-data-corruption", Kind.RUNTIME, or_else=("corrupt-batch", "learning-rate-too-high")
)
