"""prescribe: causes + run -> what to change, where to go back to, what to log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from stethoscope.causes import Explanation, RankedCause, Standing
from stethoscope.discovery import modules_in, spoken_name, summary
from stethoscope.findings import Examination
from stethoscope.prescription.case import Case
from stethoscope.prescription.checkpoint import go_back_to
from stethoscope.prescription.edits.diff import diff, spliced
from stethoscope.prescription.fixes import slug, unmade_fixes
from stethoscope.prescription.originals import original_of
from stethoscope.prescription.pointless import is_pointless
from stethoscope.prescription.remedy import (
    UNPROVED,
    CheckpointAdvice,
    ClinicTrial,
    Edit,
    NotRecommended,
    Prescription,
    Remedy,
    RemedyEntry,
)
from stethoscope.prescription.texts import text_of
from stethoscope.run import Level, Run, Splice, Where

__all__ = [
    "CheckpointAdvice",
    "ClinicTrial",
    "Edit",
    "Level",
    "NotRecommended",
    "Prescription",
    "Remedy",
    "catalogue",
    "prescribe",
]

SUGGESTIONS_TO_LOG = 6  # more than a person would add to a loop at once is noise


def prescribe(explanation: Explanation, examination: Examination, run: Run) -> Prescription:
    """Say what to do about the causes that stand."""
    case = Case(run, examination, explanation)
    checkpoint, note = go_back_to(case)
    return Prescription(
        checkpoint,
        note,
        tuple(_edits(case)),
        _unique(line for cause, remedy in _matched(case) for line in remedy.advice(cause, run)),
        _unique(line for cause, remedy in _matched(case) for line in remedy.expect(cause, run)),
        _to_log(case),
        tuple(_not_recommended(case)),
    )


@cache
def catalogue() -> tuple[RemedyEntry, ...]:
    """Every remedy there is, in the order of the names."""
    return tuple(_entry(module) for module in modules_in(f"{__name__}.remedies"))


def _entry(module: ModuleType) -> RemedyEntry:
    return RemedyEntry(
        spoken_name(module),
        module.REMEDY,
        summary(module),
        getattr(module, "splices", _nothing),
        getattr(module, "advice", _nothing),
        getattr(module, "expect", _nothing),
    )


def _nothing(cause: RankedCause, run: Run) -> Iterable[Any]:
    return ()


def _matched(case: Case) -> Iterator[tuple[RankedCause, RemedyEntry]]:
    """Each root cause with each remedy for it."""
    for cause in _roots(case):
        yield from ((cause, remedy) for remedy in catalogue() if cause.name in remedy.remedy.cures)


def _roots(case: Case) -> Iterator[RankedCause]:
    """The causes that stand by themselves; a consequence goes away with its root."""
    yield from (cause for cause in case.standing if cause.consequence_of is None)


def _edits(case: Case) -> Iterator[Edit]:
    """What remedies change, then what only a finding knows how to mend."""
    made: set[Splice] = set()
    refuted = {proof.change for proof in case.run.proofs if proof.refuted}
    for cause, entry in _matched(case):
        splices = tuple(entry.splices(cause, case.run))
        made.update(splices)
        if entry.name not in refuted and not is_pointless(splices, entry.remedy.cures, case):
            yield from _edited(entry.name, cause, splices, entry.remedy, case.run)
    for cause in _roots(case):
        for fix in unmade_fixes(cause, made):
            made.update(fix.splices)
            if slug(fix) in refuted or is_pointless(fix.splices, (cause.name,), case):
                continue
            yield from _edited(slug(fix), cause, fix.splices, Remedy((cause.name,), fix.level), case.run)


def _edited(
    name: str, cause: RankedCause, splices: Iterable[Splice], remedy: Remedy, run: Run
) -> Iterator[Edit]:
    """A remedy's splices, gathered into one diff per file."""
    by_file: dict[str, list[Splice]] = defaultdict(list)
    for splice in splices:
        by_file[splice.file].append(splice)
    for file, of_file in by_file.items():
        read = text_of(file, run)
        original = original_of(file, read.text, of_file, run) if read.kind == "config" else None
        shown_in, text, made = (
            (original.file, original.text, original.splices)
            if original
            else (file, read.text, tuple(of_file))
        )
        shown = diff(shown_in, text, spliced(text, made))
        if shown:
            proof = _proof(name, remedy, run)
            yield Edit(
                name,
                (cause.name,),
                shown_in,
                read.kind,
                _level(remedy.level, proof),
                shown,
                proof,
                read.maintained or original is not None,
                made,
                file,
                text,
            )


def _proof(name: str, remedy: Remedy, run: Run) -> str:
    """How a remedy is known to work: by a trial of this very run, or by what was recorded elsewhere."""
    tried = next((proof for proof in run.proofs if proof.change == name and proof.helps), None)
    if tried is not None:
        return f"{tried.spoken} ({tried.file})"
    return str(remedy.proof) if remedy.proof else UNPROVED


def _level(level: Level, proof: str) -> Level:
    # An unproved remedy is never applied: it is shown.
    return Level.DISPLAY if proof == UNPROVED else level


def _to_log(case: Case) -> tuple[str, ...]:
    """What would have let the rules look that decide between the causes in question."""
    open_causes = [c for c in case.explanation.causes if c.standing is not Standing.CONTRADICTED]
    deciding = {evidence.rule for c in open_causes for evidence in c.entry.cause.evidence}
    missed = [one for one in case.examination.not_examined if one.missing.log_this]
    telling = [one for one in missed if one.rule.name in deciding] if deciding else missed
    return _unique(one.missing.log_this for one in telling)[:SUGGESTIONS_TO_LOG]


def _not_recommended(case: Case) -> Iterator[NotRecommended]:
    for proof in case.run.proofs:
        if proof.refuted:
            what = proof.title if proof.settings or not proof.causes else proof.change
            yield NotRecommended(what, f"{proof.spoken}: {proof.why}", (Where(proof.file),))
    for module in modules_in(f"{__name__}.considered"):
        consider: Callable[[Case], NotRecommended | None] = module.consider
        if found := consider(case):
            yield found


def _unique(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))
