"""A counterfactual: what is changed, in which arms, on which seeds, and what came out.

Trial      a training command, the changes in question, and how a run is scored
  Change   one thing that could be done, as edits of files, settings, flags or variables
  Arm      the project with some of the changes made; every arm is run on every seed
Outcome    one run: an arm on a seed, its score, or why it has none
Verdict    what a change does: necessary, sufficient, helpful, no effect, harmful, ...
TrialResult  everything together
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

# --- what is changed ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace the text `old`, which occurs exactly once in `file`, by `to`."""

    file: str
    old: str
    to: str


@dataclass(frozen=True, slots=True)
class NewValue:
    """Give a setting another value, written as it stands in the file; every other character stays.

    `key` is dotted, as `train.optim.lr`; the end of one is enough where only one setting ends so. Without
    `file` it is the trial's `config`.
    """

    key: str
    value: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Apply a unified diff. `file` is the file to patch instead of the one that the diff names."""

    diff: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """Pass an option to the command: `--lr=1e-4` replaces the one that is there, or is added at the end."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """Set an environment variable for the command."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Comment:
    """Add a comment to a file, which cannot act: the usual placebo."""

    file: str


Edit = Replacement | NewValue | Patch | Flag | Variable | Comment


@dataclass(frozen=True, slots=True)
class Change:
    """Something that could be done to the project. All of its edits are made together.

    `in_cure` says that it belongs to the arm with all fixes, so that leaving it out is tried, too; what is
    only somebody's advice is tried alone. `yardstick` says that it edits what the run is measured by.
    """

    name: str
    edits: tuple[Edit, ...]
    title: str = ""
    in_cure: bool = True
    yardstick: bool = False
    causes: tuple[str, ...] = ()  # what it is to cure, where a diagnosis prescribed it


# --- how it is run and measured -----------------------------------------------------------------------


class Reading(StrEnum):
    """How one score is made of a curve."""

    TAIL = "tail"  # the mean of the last tenth of the points: less noise than one, and no luck of the best
    LAST = "last"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a run is judged by.

    `bar` is the score of a run that ended without a finite one: what doing nothing reaches. Without it,
    such a run counts as the worst first value of any run, or the worst last one where that is worse.
    """

    name: str
    goal: Literal["max", "min"]
    reading: Reading = Reading.TAIL
    unit: str = ""
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a trial may use. None is no limit of ours."""

    minutes: float | None = None  # for everything; what is not run by then is run when the trial goes on
    run_seconds: float | None = None  # for one run
    memory_bytes: int | None = None  # for one run, all of its processes together
    threads: int = 1  # for one run


@dataclass(frozen=True, slots=True)
class Trial:
    """One question put to a training command.

    `command` is run inside a copy of `project`; in its words `{config}` stands for the settings file,
    `{seed}` for the seed, `{steps}` for the number of steps, `{run}` for the folder to leave the run in.
    `run` is the folder, inside the project, that the command leaves its run in where `{run}` is not given to
    it; without either, whatever the command wrote is the run. `seed_variable` is an environment variable that
    gets the seed. `evaluate` is run behind the command from an untouched copy of the project, and prints the
    score: a JSON object, a number, or lines of a log. `base` are edits of every arm, such as a smaller size.
    `files` are what is copied; without them, everything but versions, environments, caches and checkpoints.
    `linked` and `left_out` are files or folders that are linked, or not there, whatever their kind.
    `folder` is where results are kept, and `trial.json` in the end. `margin` is the largest difference that
    is called no effect; without it, it is taken from the distance between sick and cured, and the noise.
    """

    name: str
    project: Path
    command: tuple[str, ...]
    metric: Metric
    changes: tuple[Change, ...]
    folder: Path
    seeds: tuple[int, ...] = tuple(range(1, 9))
    config: str = ""
    steps: int | None = None
    run: str = ""
    seed_variable: str = ""
    evaluate: tuple[str, ...] = ()
    base: tuple[Edit, ...] = ()
    placebo: Change | None = None
    files: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    margin: float | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def cure(self) -> tuple[Change, ...]:
        """The changes that are all made in the cured arm."""
        return tuple(change for change in self.changes if change.in_cure)


class Role(StrEnum):
    """What an arm is for."""

    SICK = "sick"  # nothing changed
    CURED = "cured"  # all fixes
    DROP = "drop"  # all fixes but one
    ADD = "add"  # one change alone
    PLACEBO = "placebo"  # a change that cannot act


@dataclass(frozen=True, slots=True)
class Arm:
    """The project with these changes made. `roles` are all it is for: with one fix, `cured` is also `add`."""

    name: str
    changes: tuple[str, ...]
    roles: tuple[Role, ...]


# --- what came out ------------------------------------------------------------------------------------


class Ending(StrEnum):
    """How one run ended."""

    SCORED = "scored"
    DIVERGED = "diverged"  # it ran, and its score is not finite
    CRASHED = "crashed"  # it had begun to train; counts as a run that failed
    BROKEN = "broken"  # it ended with an error before it measured anything
    TIMED_OUT = "timed out"
    OVER_MEMORY = "over memory"
    KILLED = "killed"  # by a signal that was not ours
    UNREADABLE = "no metric"  # it ended well, and the metric is not in what it left
    NOT_RUN = "not run"

    @property
    def failed(self) -> bool:
        """Whether the training itself failed, which is a result."""
        return self in (Ending.DIVERGED, Ending.CRASHED)

    @property
    def conclusive(self) -> bool:
        """Whether a run came to an end of its own, good or bad."""
        return self in (Ending.SCORED, Ending.DIVERGED, Ending.CRASHED, Ending.BROKEN)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `score` is what it is judged by, that of the frozen evaluator where there is one; `own` is the
    score by the run's own log. `curve` are (step, value) of the metric, thinned; `first` its first value.
    `tail` are the last lines of the output where no score came out, `names` what the logs hold instead.
    """

    arm: str
    seed: int
    ending: Ending
    score: float | None = None
    own: float | None = None
    seconds: float = 0.0
    steps: int | None = None
    first: float | None = None
    curve: tuple[tuple[int, float], ...] = ()
    why: str = ""
    tail: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    fingerprint: str = ""  # a hash of everything it logged but times: equal where two runs were the same
    key: str = ""  # a hash of the files, the command and the seed: what was run


@dataclass(frozen=True, slots=True)
class Effect:
    """A mean paired difference, counted so that more is better.

    `low` and `high` are its 95 % interval (paired bootstrap), `p` the exact two-sided sign-flip probability,
    `p_adjusted` the same for all effects of the trial judged together.
    """

    better: str  # the arms: better - worse is positive where the change helps
    worse: str
    mean: float
    low: float
    high: float
    p: float
    p_adjusted: float
    differences: tuple[float, ...]
    seeds: tuple[int, ...]


class Class(StrEnum):
    """What a change does."""

    NECESSARY = "necessary"  # without it, at least half of the sickness comes back
    SUFFICIENT = "sufficient"  # alone it brings at least 80 % of the cure
    HELPFUL = "helpful"
    NO_EFFECT = "no effect"  # the whole interval lies inside the margin
    HARMFUL = "harmful"
    CHANGES_YARDSTICK = "changes the yardstick"
    CANNOT_BE_APPLIED = "cannot be applied"  # with it the program ends before it measures anything
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a change does. `classes` are one, or necessary and sufficient together.

    `alone` is its effect on the sick project, `within` what the cured one loses without it.
    """

    change: str
    classes: tuple[Class, ...]
    why: str
    alone: Effect | None = None
    within: Effect | None = None
    own: Effect | None = None  # by the run's own yardstick, where a frozen one judges

    @property
    def spoken(self) -> str:
        """The classes in words."""
        return " and ".join(self.classes)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Everything a trial found. `distance` is what all fixes together bring.

    `placebo` is judged like a change. `complete` is false where another call would make more runs.
    """

    trial: Trial
    arms: tuple[Arm, ...]
    outcomes: tuple[Outcome, ...]
    verdicts: tuple[Verdict, ...]
    distance: Effect | None
    placebo: Verdict | None
    margin: float
    margin_why: str
    seed_sd: float
    notes: tuple[str, ...] = ()
    complete: bool = True
