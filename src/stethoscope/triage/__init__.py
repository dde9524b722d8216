"""triage: every run below a folder -> one summary each, remembered from one call to the next."""

from __future__ import annotations

from stethoscope.triage.asking import Choice, chosen, in_order
from stethoscope.triage.index import Index
from stethoscope.triage.sorting_out import Told, Triage, triage
from stethoscope.triage.summary import Summary

__all__ = ["Choice", "Index", "Summary", "Told", "Triage", "chosen", "in_order", "triage"]
