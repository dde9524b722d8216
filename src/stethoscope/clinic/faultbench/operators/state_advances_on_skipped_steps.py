"""Average and schedule go on where the scaler skipped the step."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("state-advances-on-skipped-steps", Kind.SOURCE, or_else=("scheduler-order-wrong",))
