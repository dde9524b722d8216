"""One batch makes the loss jump, and it comes back."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("recovered-spike", Kind.RUNTIME, benign=True)
