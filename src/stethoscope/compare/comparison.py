"""The nouns of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.compare.parting import Part
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found
from stethoscope.run import Where


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of both runs: where it parts, if it does.

    `equal_until` is the last step up to which both tell the same, digit for digit.
    """

    name: str
    points: int
    steps: tuple[int, int]
    part: Part | None
    equal_until: int | None
    where: tuple[Where, Where]


@dataclass(frozen=True, slots=True)
class Signals:
    """Every signal that both have, the first to part first, and those that could not be compared.

    `identical_until` is a step up to which every measured value is the same, digit for digit; `identical`
    says that this is so to the end.
    """

    compared: tuple[Signal, ...]
    left_out: tuple[tuple[str, str], ...]
    steps: tuple[int, int] | None
    identical_until: int | None = None
    identical: bool = False

    @property
    def parted(self) -> tuple[Signal, ...]:
        """Those that part, in the order in which they do."""
        return tuple(one for one in self.compared if one.part is not None)

    @property
    def first(self) -> Signal | None:
        """The signal that parts first."""
        return next(iter(self.parted), None)


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs: its value and address on both sides, None where a side does not have it.

    `quantity` is what the setting is of, where that is known; `good_effect` and `bad_effect` are what takes
    place there, as the log or the source tells. `idle` says why it cannot act, where it cannot; `acts_from`
    is the first step at which it can.
    """

    key: str
    good: object
    bad: object
    good_where: Where | None
    bad_where: Where | None
    quantity: str = ""
    good_effect: str = ""
    bad_effect: str = ""
    idle: str = ""
    acts_from: int | None = None


@dataclass(frozen=True, slots=True)
class SettingDifferences:
    """The settings that differ; `folded` are those that cannot matter, such as names and paths.

    `unknown` says what is not known, where a side has no settings. `seeds` are the seeds of both.
    """

    relevant: tuple[SettingDifference, ...] = ()
    folded: tuple[SettingDifference, ...] = ()
    same: int = 0
    unknown: str = ""
    seeds: tuple[object, object] | None = None


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """A function, class body or module body that differs in more than form.

    `what` is "changed", "only in good" or "only in bad"; `diff` shows the change without formatting;
    `measures_only` says that by its name it is about validation, logging or saving.
    """

    name: str
    what: str
    good_where: Where | None
    bad_where: Where | None
    diff: str = ""
    measures_only: bool = False


@dataclass(frozen=True, slots=True)
class CodeDifferences:
    """What differs in the source, of how many files; `reformatted` ones differ in form only."""

    changed: tuple[CodeDifference, ...] = ()
    files: int = 0
    reformatted: int = 0
    unknown: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentDifference:
    """Something of the surroundings that differs; None where a side does not tell."""

    what: str
    good: str | None
    bad: str | None
    good_where: Where | None
    bad_where: Where | None


@dataclass(frozen=True, slots=True)
class EnvironmentDifferences:
    """What differs around the two runs, what only one of them tells, and how much is the same."""

    changed: tuple[EnvironmentDifference, ...] = ()
    one_sided: tuple[EnvironmentDifference, ...] = ()
    same: int = 0


@dataclass(frozen=True, slots=True)
class FindingDifferences:
    """What is found in the bad run and in no good one, the other way round, and in both."""

    only_bad: tuple[Found, ...] = ()
    only_good: tuple[Found, ...] = ()
    both: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A difference that may be why the runs part; `why` says what speaks for or against it."""

    what: str
    kind: str
    can_act: bool
    why: tuple[str, ...]
    where: tuple[Where, ...]
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Where two runs part, and what differs between them."""

    goods: tuple[Diagnosis, ...]
    bad: Diagnosis
    signals: Signals
    settings: SettingDifferences
    code: CodeDifferences
    environment: EnvironmentDifferences
    findings: FindingDifferences
    suspects: tuple[Suspect, ...] = ()

    @property
    def parts(self) -> bool:
        """Whether the runs part."""
        return self.signals.first is not None

    @property
    def only_one(self) -> Suspect | None:
        """The one difference that can act before the runs part, where all that could matter is known."""
        able = [one for one in self.suspects if one.can_act]
        return able[0] if len(able) == 1 and self.everything_known else None

    @property
    def everything_known(self) -> bool:
        """Whether settings and source of both runs were there to be compared."""
        return not self.settings.unknown and not self.code.unknown

    def __iter__(self) -> Iterator[Signal]:
        return iter(self.signals.compared)
