"""The line itself: a run's files in, a diagnosis out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path

from stethoscope.causes import Explanation, explain
from stethoscope.causes.verdict import Verdict, judge
from stethoscope.findings import Examination, examine
from stethoscope.forgetting import forget_now_and_then
from stethoscope.prescription import Prescription, prescribe
from stethoscope.read import read
from stethoscope.run import Run
from stethoscope.signals import measure
from stethoscope.signals.ending import Ending
from stethoscope.signals.ending import measure as how_it_ended


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What is wrong with a run, how sure that is, and what to do."""

    run: Run
    ending: Ending
    examination: Examination
    explanation: Explanation
    prescription: Prescription
    verdict: Verdict

    def _repr_html_(self) -> str:
        """The report as a notebook shows it."""
        return _shown(self, "html.notebook")

    def _repr_markdown_(self) -> str:
        """The report where a notebook is shown as text."""
        return _shown(self, "markdown_report")


def diagnose(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    config: str | PathLike[str] | None = None,
    code: str | PathLike[str] | None = None,
) -> Diagnosis:
    """Examine the run stored at `path` and say what went wrong with it.

    Several paths are examined as one run; raises SeveralRuns where they tell of more than one. `config`
    and `code` name the settings file and the source to use instead of those found.
    """
    paths = [path] if isinstance(path, str | PathLike) else path
    return judged(
        read([Path(one) for one in paths], Path(config) if config else None, Path(code) if code else None)
    )


def judged(run: Run) -> Diagnosis:
    """The diagnosis of a run that was read, as far as it has come."""
    signals = measure(run)
    examination = examine(signals)
    explanation = explain(examination, run.proofs)
    prescription = prescribe(explanation, examination, run)
    verdict = judge(run, explanation)
    forget_now_and_then()
    return Diagnosis(run, how_it_ended(run), examination, explanation, prescription, verdict)


def _shown(diagnosis: Diagnosis, form: str) -> str:
    # Reports come after the line, and are imported only where somebody looks.
    rendered: str = import_module(f"stethoscope.report.{form}").render(diagnosis)
    return rendered
