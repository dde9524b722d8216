"""Every validation draws other samples."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("validation-set-unstable", Kind.SOURCE, or_else=("early-peak-is-noise",))
