"""The average lags so far behind that it has not arrived by the end."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("ema-too-slow", Kind.SETTINGS, or_else=("wrong-weights-evaluated",))
