"""What a judge looks at: one proposal, what it means in this run, and everything known of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Finding, Found, Severity, Subject, apply, catalogue
from stethoscope.prescription.case import Case
from stethoscope.review.claim import Proposal
from stethoscope.review.elsewhere import Recorded
from stethoscope.review.resolving import Target
from stethoscope.review.values import value_of
from stethoscope.run import Recipe, Run, Setting, Where
from stethoscope.signals import Missing, measure
from stethoscope.signals.training_plan import TrainingPlan
from stethoscope.signals.training_plan import measure as plan_of
from stethoscope.signals.unknown_settings import UnknownSetting
from stethoscope.signals.unknown_settings import measure as unknown_in
from stethoscope.signals.unused_settings import UnusedSetting
from stethoscope.signals.unused_settings import measure as unused_in


@dataclass(frozen=True, eq=False)
class Patient:
    """A diagnosed run, with what several questions ask about it. `recorded` are trials of other trainings."""

    diagnosis: Diagnosis
    recorded: tuple[Recorded, ...] = ()

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.diagnosis.run

    @cached_property
    def case(self) -> Case:
        """The run as a prescription sees it."""
        return Case(self.run, self.diagnosis.examination, self.diagnosis.explanation)

    @cached_property
    def plan(self) -> TrainingPlan | None:
        """The training as asked for and as it takes place; None where nothing is known of it."""
        measured = plan_of(self.run)
        return None if isinstance(measured, Missing) else measured

    @cached_property
    def unlogged(self) -> Run:
        """The run before it took a step: what settings and source alone say of it."""
        return replace(self.run, series={}, abandoned=(), proofs=())

    @cached_property
    def found_in_settings(self) -> tuple[Found, ...]:
        """What the settings rules find before any step."""
        return examined(self.unlogged)

    @cached_property
    def dead(self) -> dict[str, Finding]:
        """The settings that nothing uses, by name."""
        found: dict[str, Finding] = {}
        for rule in ("setting-never-used", "setting-overwritten"):
            for finding in self.diagnosis.examination.of(rule):
                name = finding.evidence.get("setting")
                if isinstance(name, str):
                    found.setdefault(name, finding)
        return found


@dataclass(frozen=True, eq=False)
class Question:
    """One proposal about a setting, to be judged."""

    proposal: Proposal
    target: Target
    patient: Patient | None
    siblings: tuple[Target, ...] = field(default=())

    @property
    def value(self) -> object:
        """The value that is proposed, None where only a direction is."""
        return self.target.value

    @property
    def has_value(self) -> bool:
        """Whether a value is proposed, be it null."""
        return bool(self.proposal.to) or self.proposal.factor is not None

    @cached_property
    def changed(self) -> Run | None:
        """The run before its first step, with the proposed value in place of its own."""
        if self.patient is None or self.patient.run.recipe is None or not self.has_value:
            return None
        if self.target.known is not None and self.target.known.is_coded:
            return None
        recipe = with_value(self.patient.run.recipe, self)
        return replace(self.patient.unlogged, recipe=recipe) if recipe else None

    @cached_property
    def found_after(self) -> tuple[Found, ...]:
        """What the settings rules would find with the change."""
        return examined(self.changed) if self.changed else ()

    def unknown(self) -> UnknownSetting | None:
        """Who would not know the key, if anybody would not."""
        measured = unknown_in(self.changed) if self.changed else None
        if measured is None or isinstance(measured, Missing):
            return None
        dotted = self.target.dotted
        return next((one for one in measured.settings if f"{dotted}.".startswith(f"{one.name}.")), None)

    def is_judged(self) -> bool:
        """Whether anybody knows which keys there are."""
        return self.changed is not None and not isinstance(unknown_in(self.changed), Missing)

    def unused(self) -> UnusedSetting | None:
        """The setting where nothing would use it."""
        measured = unused_in(self.changed) if self.changed else None
        if measured is None or isinstance(measured, Missing):
            return None
        names = {self.target.leaf, ".".join(map(str, self.target.key[-2:]))}
        return next((one for one in measured.settings if one.name in names), None)


def examined(run: Run) -> tuple[Found, ...]:
    """What the rules that read settings find, notes left out."""
    signals = measure(run)
    found = []
    for rule in catalogue():
        if rule.subject is Subject.SETTINGS:
            outcome = apply(rule, signals)
            found += [Found(rule, one) for one in outcome] if not isinstance(outcome, Missing) else []
    return tuple(one for one in found if one.severity is not Severity.NOTE)


def with_value(recipe: Recipe, question: Question) -> Recipe | None:
    """The recipe with one value changed or added; None where there is no file to add it to."""
    target = question.target
    value = loaded(question)
    if target.known is None:
        place = _place(recipe, target)
        if place is None:
            return None
        return replace(recipe, settings=(*recipe.settings, *_settings(target, value, place, question)))
    kept, put = list[Setting](), False
    for setting in recipe.settings:
        is_it = setting.key == target.key or setting.key[: len(target.key)] == target.key
        if not is_it:
            kept.append(setting)
        elif not put:
            put = True
            kept += _settings(target, value, setting.where, question)
    if not put:  # a parser's default, which the command line would override
        kept += _settings(target, value, target.known.where, question)
    return replace(recipe, settings=tuple(kept))


def loaded(question: Question) -> object:
    """The value as the run's own file would load it: whole numbers stay whole."""
    value, known = question.value, question.target.known
    if isinstance(value, float) and value.is_integer() and known and isinstance(known.value, int):
        return int(value) if not isinstance(known.value, bool) and math.isfinite(value) else value
    return value


def _settings(target: Target, value: object, where: Where, question: Question) -> list[Setting]:
    text = question.proposal.to
    if isinstance(value, list):
        return [Setting((*target.key, n), value_of(str(one)), where) for n, one in enumerate(value)]
    return [Setting(target.key, value, where, text)]


def _place(recipe: Recipe, target: Target) -> Where | None:
    """Where a further key would stand: beside those of its section, else in the first file."""
    above = target.key[:-1]
    beside = next((s.where for s in recipe.settings if s.key[: len(above)] == above and above), None)
    if beside is not None:
        return beside
    file = next((file for file in recipe.files if file.syntax != "shell"), None) or next(
        iter(recipe.files), None
    )
    return Where(file.file) if file else None
