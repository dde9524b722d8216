"""Output and target are of different parameterisations."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("preconditioning-wrong", Kind.SOURCE, or_else=("noise-levels-mismatch",))
