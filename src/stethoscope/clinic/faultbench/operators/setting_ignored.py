"""A setting is read and never used."""

from stethoscope.clinic.faultbench.operator import Kind, Operator

OPERATOR = Operator("setting-ignored", Kind.SOURCE)
