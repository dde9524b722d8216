"""A resume starts from new weights."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("weights-not-restored", Kind.SOURCE, or_else=("optimizer-state-lost",))
