"""A product or a sum of the forward pass does not fit into half precision."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator(
    "forward-overflow",
    Kind.SOURCE,
    or_else=("loss-numerically-unsafe", "norm-in-half-precision", "loss-scale-at-zero"),
)
