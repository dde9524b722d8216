"""From a run that was read to its diagnosis: the line behind `read`."""

from __future__ import annotations

from stethoscope.causes import explain
from stethoscope.causes.verdict import judge
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import examine
from stethoscope.prescription import prescribe
from stethoscope.run import Run
from stethoscope.signals import measure
from stethoscope.signals.ending import measure as how_it_ended


def judged(run: Run) -> Diagnosis:
    """Examine a run as far as it has come."""
    examination = examine(measure(run))
    explanation = explain(examination)
    prescription = prescribe(explanation, examination, run)
    verdict = judge(run, explanation)
    return Diagnosis(run, how_it_ended(run), examination, explanation, prescription, verdict)
