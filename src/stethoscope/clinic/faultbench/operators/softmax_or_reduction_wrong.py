"""A softmax too many, or a mean over the wrong axis."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("softmax-or-reduction-wrong", Kind.SOURCE, or_else=("loss-terms-unbalanced",))
