"""Attention logits grow without a scale."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "attention-logit-growth",
    Kind.SOURCE,
    or_else=("init-too-large", "gradient-growth", "learning-rate-too-high"),
)
