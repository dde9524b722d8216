"""review: documents + a diagnosis -> a ruling on each proposed change, and what the documents missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from stethoscope.diagnose import Diagnosis
from stethoscope.review.claim import (
    OBJECTIONABLE,
    Change,
    Claim,
    Contradiction,
    Fact,
    Judgement,
    Kind,
    Missed,
    Proposal,
    Reading,
    Review,
    Ruling,
    Unparsed,
)
from stethoscope.review.elsewhere import Recorded, recorded_in
from stethoscope.review.judges import unknown_key
from stethoscope.review.judging import judged
from stethoscope.review.missed import missed
from stethoscope.review.question import Patient, Question
from stethoscope.review.reading import read_document
from stethoscope.review.resolving import BY_QUANTITY, Resolver, Target, beside
from stethoscope.review.series_claims import claim_of
from stethoscope.review.settling import settle_by
from stethoscope.review.values import same, shown
from stethoscope.run import Key

__all__ = [
    "OBJECTIONABLE",
    "Change",
    "Claim",
    "Contradiction",
    "Fact",
    "Judgement",
    "Kind",
    "Missed",
    "Recorded",
    "Review",
    "Ruling",
    "Unparsed",
    "read_document",
    "recorded_in",
    "review",
]


def review(
    readings: Sequence[Reading], diagnosis: Diagnosis | None = None, recorded: Iterable[Recorded] = ()
) -> Review:
    """Judge what documents propose and state, against a diagnosed run where there is one."""
    patient = Patient(diagnosis, tuple(recorded)) if diagnosis else None
    resolver = Resolver(
        diagnosis.run if diagnosis else None, frozenset(patient.dead) if patient else frozenset()
    )
    claims: list[Claim] = []
    unparsed: list[Unparsed] = []
    wanted: list[tuple[str, Proposal, Target]] = []
    for reading in readings:
        resolved, left = _resolved(reading, resolver, patient)
        wanted += [(reading.file, proposal, target) for proposal, target in resolved]
        claims += _claims(reading.file, resolved, patient)
        claims += [
            claim_of(one, diagnosis.run if diagnosis else None, reading.file) for one in reading.observations
        ]
        unparsed += sorted({*reading.unparsed, *left}, key=lambda one: one.where.line or 0)
    prose = [text for reading in readings for text in reading.prose]
    return Review(
        tuple(reading.file for reading in readings),
        diagnosis.run.path if diagnosis else "",
        tuple(sorted(claims, key=lambda one: (one.document, one.where[0].line or 0))),
        tuple(unparsed),
        missed(diagnosis, prose, claims) if diagnosis else (),
        _contradictions(wanted),
        tuple(note for reading in readings for note in reading.notes),
        diagnosis.verdict.value if diagnosis else "",
        Counter(claim.ruling.value for claim in claims),
    )


# Of a whole file: what a run is called and where it is kept.
_LABELS = frozenset(
    {"name", "exp_name", "run_name", "experiment_name", "output_dir", "save_dir", "project", "tag"}
)
Resolved = list[tuple[Proposal, Target]]
Sections = dict[tuple[int, tuple[str, ...]], Key]


def _resolved(
    reading: Reading, resolver: Resolver, patient: Patient | None
) -> tuple[Resolved, list[Unparsed]]:
    """Each proposal with what it means; what names nothing is prose after all."""
    found: Resolved = []
    left: list[Unparsed] = []
    for proposal in reading.proposals:
        target = resolver.target(proposal)
        if target is not None:
            found.append((proposal, target))
        else:
            left.append(Unparsed(proposal.text, proposal.where))
    sections = beside(found)
    literal = [
        (proposal, _literal(proposal, target, resolver, patient, sections)) for proposal, target in found
    ]
    placed = [(proposal, _placed(proposal, target, sections)) for proposal, target in literal]
    taken = {proposal.where for proposal, _ in placed}
    return placed, [one for one in left if one.where not in taken]


def _literal(
    proposal: Proposal, target: Target, resolver: Resolver, patient: Patient | None, sections: Sections
) -> Target:
    """A key that only means what the run calls otherwise, as written where that is known to be wrong."""
    if target.how != BY_QUANTITY or not proposal.formal or patient is None:
        return target
    written = resolver.unset(proposal, target.value)
    if written is None:
        return target
    written = _placed(proposal, written, sections)
    return written if unknown_key.judge(Question(proposal, written, patient)) else target


def _placed(proposal: Proposal, target: Target, sections: Sections) -> Target:
    """A key that the run does not set stands in the section of those beside it."""
    if target.known is not None or proposal.kind is not Kind.SETTING or len(target.key) > 1:
        return target
    above = sections.get((proposal.block, proposal.names[0][:-1]))
    return replace(target, key=(*above, target.key[-1])) if above else target


def _claims(document: str, resolved: Resolved, patient: Patient | None) -> list[Claim]:
    """One claim for each change; where it is said several times, with all its places."""
    groups: dict[tuple[object, ...], list[tuple[Proposal, Target]]] = {}
    for proposal, target in resolved:
        is_label = not proposal.marked and target.leaf.lower() in _LABELS
        if is_label or (proposal.whole and _stays(target)):
            continue  # a line of a whole file that stays as it is, or says how the run is called
        groups.setdefault(_identity(proposal, target), []).append((proposal, target))
    for key in list(groups):
        better = _said_better(key, groups)
        if better is not None:
            better += groups.pop(key)
    by_block: dict[int, list[Target]] = {}
    for proposal, target in resolved:
        by_block.setdefault(proposal.block, []).append(target)
    return [_claim(document, members, by_block, patient) for members in groups.values()]


def _stays(target: Target) -> bool:
    return target.known is not None and same(target.known.value, target.value)


def _identity(proposal: Proposal, target: Target) -> tuple[object, ...]:
    value = shown(target.value) if target.value is not None or proposal.to else ""
    if isinstance(target.value, float | int) and not isinstance(target.value, bool):
        value = f"{float(target.value):.12g}"
    return proposal.kind, target.dotted.lower(), value.lower(), "" if value else target.direction


def _said_better(
    key: tuple[object, ...], groups: dict[tuple[object, ...], list[tuple[Proposal, Target]]]
) -> list[tuple[Proposal, Target]] | None:
    """Where a mere direction is given a value: the same way, or on the same line of the document."""
    kind, dotted, value, direction = key
    if value:
        return None
    own = {proposal.where for proposal, _ in groups[key]}
    for (other, named, to, _), members in groups.items():
        if (other, named) == (kind, dotted) and to:
            same_way = any(target.direction == direction for _, target in members)
            if same_way or any(proposal.where in own for proposal, _ in members):
                return members
    return None


def _claim(
    document: str,
    members: list[tuple[Proposal, Target]],
    by_block: dict[int, list[Target]],
    patient: Patient | None,
) -> Claim:
    proposal, target = max(members, key=lambda one: (bool(one[0].to), bool(one[0].before)))
    siblings = tuple(one for one in by_block[proposal.block] if one is not target)
    question = Question(proposal, target, patient, siblings)
    ruling = judged(question)
    known = target.known
    change = Change(
        proposal.kind,
        target.dotted if proposal.kind is Kind.SETTING else proposal.kind.value,
        ".".join(proposal.names[0]),
        shown(target.value) if question.has_value else "",
        proposal.before,
        shown(known.value) if known else "",
        target.direction,
    )
    if proposal.kind is Kind.SOURCE:
        change = replace(change, to=proposal.to)
    places = tuple(dict.fromkeys(one.where for one, _ in members))
    return Claim(document, members[0][0].text, places, change, ruling, settle_by(question, ruling.ruling))


def _contradictions(wanted: list[tuple[str, Proposal, Target]]) -> tuple[Contradiction, ...]:
    """The keys for which two documents want different values."""
    sides: dict[str, dict[tuple[str, str], Proposal]] = {}
    for document, proposal, target in wanted:
        if proposal.kind is Kind.SETTING and (proposal.to or proposal.factor is not None):
            by_value = sides.setdefault(target.dotted.lower(), {})
            by_value.setdefault((document, shown(target.value)), proposal)
    found = []
    for key, by_value in sides.items():
        documents = {document for document, _ in by_value}
        values = [{value for doc, value in by_value if doc == document} for document in documents]
        if len(documents) > 1 and not set.intersection(*values):
            found.append(
                Contradiction(key, tuple((doc, value, p.where) for (doc, value), p in by_value.items()))
            )
    return tuple(found)
