"""The discriminator wins, and the generator learns nothing from it."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "discriminator-wins", Kind.SETTINGS, or_else=("loss-terms-unbalanced", "learning-rate-too-high")
)
