"""The scheduler is stepped in front of the optimizer, or its factor acts twice."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("scheduler-order-wrong", Kind.SOURCE, or_else=("schedule-in-wrong-units",))
