"""The mean over batches weighs them wrongly."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("metric-aggregation-wrong", Kind.SOURCE, or_else=("metric-wrong",))
