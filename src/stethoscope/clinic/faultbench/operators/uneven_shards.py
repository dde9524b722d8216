"""All processes see the same samples."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("uneven-shards", Kind.SOURCE, or_else=("data-repeats", "ranks-disagree"))
