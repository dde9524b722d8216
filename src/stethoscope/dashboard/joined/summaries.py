"""What the list says about a run, and where it is kept from one start to the next."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.signals.ending import STILL_RUNNING, UNKNOWN

MOST_CAUSES = 5


@dataclass(frozen=True, slots=True)
class NamedCause:
    """A cause that stands, or the best guess: its slug, its title, and how sure it is."""

    name: str
    title: str
    probability: float
    standing: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A diagnosis in a line. `error` says why there is none."""

    verdict: str = "unknown"
    causes: tuple[NamedCause, ...] = ()
    findings: int = 0
    step: int | None = None
    axis: str = "step"
    ending: str = UNKNOWN
    error: str = ""

    @property
    def may_go_on(self) -> bool:
        """Whether nothing in the logs says that the run is over."""
        return self.ending in {STILL_RUNNING, UNKNOWN}


def summarised(path: str) -> Summary:
    """Diagnose a run."""
    return of_diagnosis(diagnose(path))


def of_diagnosis(diagnosis: Diagnosis) -> Summary:
    """The line that a list shows of a diagnosis."""
    run = diagnosis.run
    causes = diagnosis.explanation.causes
    named = [cause for cause in causes if stands(cause)]
    if not named and diagnosis.explanation.symptoms:
        named = [cause for cause in causes[:1] if cause.standing.value != "contradicted"]
    return Summary(
        diagnosis.verdict.value,
        tuple(
            NamedCause(cause.name, cause.entry.cause.title, cause.probability, cause.standing.value)
            for cause in named[:MOST_CAUSES]
        ),
        len(diagnosis.explanation.symptoms),
        run.steps[1] if run.steps else None,
        "epoch" if run.series and all(one.axis == "epoch" for one in run.series.values()) else "step",
        diagnosis.ending.how,
    )


class Shelf:
    """Summaries by the run and the state of its files."""

    def kept(self, inside: str, stamp: tuple[int, int, int]) -> Summary | None:
        """What is known of a run as it is."""
        return None

    def keep(self, inside: str, stamp: tuple[int, int, int], summary: Summary) -> None:
        """Remember it."""
