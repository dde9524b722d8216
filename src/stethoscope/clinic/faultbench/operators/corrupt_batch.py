"""Some samples are not finite, or absurd."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "corrupt-batch", Kind.DATA, or_else=("loss-numerically-unsafe", "clipping-missing", "heavy-tailed-loss")
)
