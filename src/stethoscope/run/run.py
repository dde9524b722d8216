"""A training run: everything that was read about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stethoscope.run.checkpoint import Checkpoint
from stethoscope.run.log import Event, Log, Segment, Unread
from stethoscope.run.packages import Package
from stethoscope.run.program import Program
from stethoscope.run.proof import Proof
from stethoscope.run.recipe import Recipe
from stethoscope.run.series import Series


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run. `series` holds each signal's current branch: after a restart, the steps that were
    trained again replace the abandoned ones, which are kept in `abandoned`. `notes` say how the logs were
    put together where that is not plain. `packages` are those whose version is recorded somewhere.
    `is_followed` is false where the source is not followed under these settings, being one of too many.
    `around` are the programs of which one may read the settings, where nothing says which. `proofs` are what
    a trial beside the run found.
    """

    path: str
    name: str
    logs: tuple[Log, ...] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    abandoned: tuple[Series, ...] = ()
    segments: tuple[Segment, ...] = ()
    recipe: Recipe | None = None
    program: Program | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    is_followed: bool = True
    around: tuple[Program, ...] = ()
    proofs: tuple[Proof, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """What the logs announced, in the order of the logs."""
        return tuple(event for log in self.logs for event in log.events)

    @property
    def steps(self) -> tuple[int, int] | None:
        """The first and last step of any series that counts steps."""
        counted = [s for s in self.series.values() if len(s) and s.axis == "step"]
        counted = counted or [s for s in self.series.values() if len(s)]
        if not counted:
            return None
        return min(int(s.steps[0]) for s in counted), max(int(s.steps[-1]) for s in counted)

    def family(self, prefix: str) -> dict[str, Series]:
        """The series below a prefix: `family("loss")` gives loss/l1 as "l1", and so on."""
        start = prefix + "/"
        return {name[len(start) :]: s for name, s in self.series.items() if name.startswith(start)}
