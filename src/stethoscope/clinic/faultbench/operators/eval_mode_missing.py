"""Validation runs in training mode."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("eval-mode-missing", Kind.SOURCE, or_else=("wrong-weights-evaluated",))
