"""Network and corruption are told different noise levels."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("noise-levels-mismatch", Kind.SOURCE, or_else=("timestep-bug", "preconditioning-wrong"))
