"""The ruling on each proposal: the judges in their order, then what nobody could settle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType

from stethoscope.causes.verdict import Verdict
from stethoscope.discovery import modules_in
from stethoscope.review.claim import Fact, Judgement, Kind, Proposal, Ruling
from stethoscope.review.elsewhere import facts
from stethoscope.review.judges import what_settings_say
from stethoscope.review.question import Patient, Question
from stethoscope.review.values import number_of, same, shown, value_of
from stethoscope.run import Where


def judged(question: Question) -> Judgement:
    """The first ruling that a judge gives, with what was seen elsewhere beside it."""
    kind = question.proposal.kind
    if kind is Kind.CHECKPOINT:
        return _of_checkpoint(question.proposal, question.patient)
    if kind is Kind.SOURCE:
        return _of_source(question.proposal, question.patient)
    found = next((ruling for judge in _judges() if (ruling := judge.judge(question))), None)
    ruling = found or _untested(question)
    elsewhere = _elsewhere(question, ruling)
    remarks = [one for one in (_stated_wrongly(question), what_settings_say.remark(question)) if one]
    return replace(ruling, evidence=(*_addressed(ruling, question), *remarks, *elsewhere))


def _addressed(ruling: Judgement, question: Question) -> tuple[Fact, ...]:
    """The evidence, with the setting's own place where nothing else has one."""
    known = question.target.known
    if known is None or any(fact.where for fact in ruling.evidence):
        return ruling.evidence
    return (*ruling.evidence, Fact(f"{known.dotted} is {shown(known.value)}", (known.where,)))


def _elsewhere(question: Question, ruling: Judgement) -> tuple[Fact, ...]:
    """Trials of the same kind of change; of a key that does not exist, only those that tried it."""
    if question.patient is None:
        return ()
    is_unknown = ruling.ruling is Ruling.UNKNOWN_KEY
    leaf = question.target.leaf.lower()
    recorded = tuple(one for one in question.patient.recorded if one.leaf == leaf or not is_unknown)
    return facts(question.target, recorded)


@cache
def _judges() -> tuple[ModuleType, ...]:
    found = [module for module in modules_in("stethoscope.review.judges") if hasattr(module, "PLACE")]
    return tuple(sorted(found, key=lambda module: int(module.PLACE)))


def _untested(question: Question) -> Judgement:
    """What no evidence settles, and why that is."""
    if question.patient is None:
        return Judgement(
            Ruling.UNTESTED, "no run was given: --run says what the setting is and whether it acts"
        )
    known = question.target.known
    here = (Fact(f"{known.dotted} is {shown(known.value)}", (known.where,)),) if known else ()
    if question.patient.run.recipe is None and known is None:
        return Judgement(
            Ruling.UNTESTED, "the run's settings were not found, so nothing tells what would change"
        )
    standing = [cause for cause in question.patient.case.standing if cause.consequence_of is None]
    if standing:
        titles = "; ".join(cause.entry.cause.title.lower() for cause in standing[:2])
        return Judgement(
            Ruling.UNTESTED, f"nothing in the run speaks for it; what was found is: {titles}", here
        )
    if question.patient.diagnosis.verdict is Verdict.HEALTHY:
        return Judgement(Ruling.UNTESTED, "nothing is wrong with the run that it would mend", here)
    return Judgement(Ruling.UNTESTED, "nothing in the run speaks for or against it", here)


def _stated_wrongly(question: Question) -> Fact | None:
    """That the document takes another value for the one in use."""
    known, before = question.target.known, question.proposal.before
    if known is None or not before or same(known.value, value_of(before)):
        return None
    said = f"the document has {before} as the value in use; {known.dotted} is {shown(known.value)}"
    return Fact(said, (known.where,))


# --- what is no setting ---------------------------------------------------------------------------------


def _of_checkpoint(proposal: Proposal, patient: Patient | None) -> Judgement:
    """Whether there is a checkpoint of this step, and whether a resume would do anything."""
    step = number_of(proposal.to)
    if patient is None or step is None:
        return Judgement(Ruling.UNTESTED, "no run was given: --run says which checkpoints there are")
    steps = sorted({one.step for one in patient.run.checkpoints if one.step is not None})
    if int(step) in steps:
        return _of_kept(int(step), patient)
    if steps:
        places = tuple(Where(one.file) for one in patient.run.checkpoints[:2])
        listed = ", ".join(f"{one:,}" for one in steps[:8])
        why = f"there is no checkpoint of step {int(step):,}: saved are {listed}"
        return Judgement(Ruling.REFUTED, why, (Fact(why, places),))
    dead = patient.case.finding("resume-flag-unused")
    if dead is not None:
        return Judgement(
            Ruling.NO_EFFECT, f"a resume would do nothing: {dead.message}", (Fact(dead.message, dead.places),)
        )
    last = patient.run.steps
    if last and step > last[1]:
        why = f"the run ends at step {last[1]:,}: there is no checkpoint of step {int(step):,}"
        return Judgement(
            Ruling.REFUTED, why, (Fact(why, tuple(Where(log.file) for log in patient.run.logs[:1])),)
        )
    return Judgement(
        Ruling.UNTESTED, "no checkpoint was found with the run, so nothing tells whether this one exists"
    )


def _of_kept(step: int, patient: Patient) -> Judgement:
    advised = patient.diagnosis.prescription.checkpoint
    note = patient.diagnosis.prescription.checkpoint_note
    if advised is not None and advised.step == step:
        return Judgement(Ruling.SUPPORTED, advised.why, (Fact(advised.why, (Where(advised.path),)),))
    why = note or "the checkpoint exists; nothing in the run says that going back to it would help"
    places = tuple(Where(one.file) for one in patient.run.checkpoints if one.step == step)
    return Judgement(Ruling.UNTESTED, why, (Fact(f"the checkpoint of step {step:,} exists", places[:1]),))


def _of_source(proposal: Proposal, patient: Patient | None) -> Judgement:
    """Whether the source has what the document wants to replace, or has the replacement already."""
    if patient is None or patient.run.program is None:
        return Judgement(
            Ruling.UNTESTED, "a change of source; the source was not given, so nothing was compared"
        )
    old = [line for line in proposal.before.split("\n") if line and line not in proposal.to.split("\n")]
    new = [line for line in proposal.to.split("\n") if line and line not in proposal.before.split("\n")]
    at_old, at_new = _lines_at(old, patient), _lines_at(new, patient)
    if new and len(at_new) == len(new):
        why = "the source has these lines already"
        return Judgement(Ruling.NO_EFFECT, why, (Fact(why, tuple(at_new)),))
    if at_old:
        return Judgement(
            Ruling.UNTESTED,
            "a change of source, which only a trial can settle",
            (Fact("what it replaces", tuple(at_old)),),
        )
    return Judgement(
        Ruling.UNTESTED,
        "a change of source; what it is to replace is not in the source as the document shows it",
    )


def _lines_at(wanted: list[str], patient: Patient) -> list[Where]:
    """Where the source has each of these lines, comments and spaces aside."""
    places: dict[str, Where] = {}
    for source in patient.run.program or ():
        for number, line in enumerate(source.text.split("\n"), start=1):
            places.setdefault(_bare(line), Where(source.file, line=number))
    return [places[_bare(line)] for line in wanted if _bare(line) and _bare(line) in places]


def _bare(line: str) -> str:
    return "".join(line.partition("#")[0].split())
