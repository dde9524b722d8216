"""A second stage with harder data begins, as planned."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("data-stage-change", Kind.SOURCE, benign=True)
