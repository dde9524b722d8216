"""The learning rate rises and falls in cycles, and the loss with it."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("cyclic-learning-rate", Kind.SETTINGS, benign=True)
