"""The curriculum is harder than what was learned."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("curriculum-too-fast", Kind.SETTINGS, or_else=("learning-rate-too-high",))
