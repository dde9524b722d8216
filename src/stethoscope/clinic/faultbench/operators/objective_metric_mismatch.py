"""What is minimised and what is measured part ways."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("objective-metric-mismatch", Kind.SETTINGS, or_else=("loss-terms-unbalanced",))
