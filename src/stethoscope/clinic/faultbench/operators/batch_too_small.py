"""The batch is so small that its gradients are noise."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "batch-too-small", Kind.SETTINGS, or_else=("batchnorm-tiny-batch", "learning-rate-too-high")
)
