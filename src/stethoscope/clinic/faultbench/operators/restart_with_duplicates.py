"""The run was killed and resumed in full; some steps are logged twice."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("restart-with-duplicates", Kind.RUNTIME, benign=True)
