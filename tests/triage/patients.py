"""What the workers of a triage are given in tests; processes import it by its name."""

from __future__ import annotations

import os
import time

from stethoscope.triage.examining import Outcome, Patient
from stethoscope.triage.summary import Summary


def examined(patient: Patient, seconds: float) -> Outcome:
    """A run whose name says what it does to the process that examines it."""
    name = os.path.basename(patient.path)
    if name.startswith("crash"):
        os._exit(9)
    if name.startswith("hang"):
        time.sleep(600)
    others = (f"{patient.path}-beside",) if name.startswith("two") and "beside" not in name else ()
    return Outcome(Summary(patient.path, name, "healthy"), others)
