"""A document read: what it proposes, what it says was measured, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from types import ModuleType

from stethoscope.discovery import modules_in
from stethoscope.review.claim import Observation, Proposal, Reading, Unparsed
from stethoscope.review.observing import observations
from stethoscope.review.parts import Line, Part, PartKind, parts_of, plain
from stethoscope.run import Where

MOST_PROPOSALS = 500  # a document that proposes more is a settings file or a log
MOST_UNPARSED = 500
MOST_LINES = 200_000  # more than anybody writes
DIFFS = frozenset({"diff", "patch", "udiff"})
FEWEST_SENTENCES = 2
_SENTENCE = re.compile(r"^\s*[-*•]\s+[A-Za-z]\w*\s+\w+")
_END = re.compile(r"(?<=[a-z0-9`)*\"'][.!?])\s+(?=[A-Z`*])")
FEWEST_WORDS = 4  # of a sentence that says something


def read_document(text: str, file: str) -> Reading:
    """Everything a document says, in the order of its lines."""
    cut = _end_of_line(text, MOST_LINES)
    parts = [one for part in parts_of(text[:cut]) for one in _spoken(part)]
    proposals: list[Proposal] = []
    seen: list[Observation] = []
    unparsed: list[Unparsed] = []
    notes = [f"{file}: only its first {MOST_LINES:,} lines were read"] if cut < len(text) else []
    for part in parts:
        measured = list(islice(observations(part), MOST_PROPOSALS + 1))
        every = (proposal for form in _forms() for proposal in form.read(part))
        wanted = _without_measured(islice(every, 4 * MOST_PROPOSALS), measured)
        seen += measured
        proposals += wanted
        if part.kind is PartKind.PROSE:
            unparsed += _silent_sentences(part, file) if wanted or measured else _sentence(part, file)
        if len(proposals) > MOST_PROPOSALS or len(seen) > MOST_PROPOSALS:
            notes.append(
                f"{file} holds more than {MOST_PROPOSALS} proposals or figures; the rest was not read"
            )
            break
    prose = tuple(part.text for part in parts if part.kind in (PartKind.PROSE, PartKind.HEADING))
    placed = tuple(_at(one, file) for one in _in_order(proposals[:MOST_PROPOSALS]))
    told = tuple(replace(one, where=replace(one.where, file=file)) for one in seen[:MOST_PROPOSALS])
    if len(unparsed) > MOST_UNPARSED:
        notes.append(f"{len(unparsed) - MOST_UNPARSED:,} further sentences of {file} are not listed")
    return Reading(file, placed, told, tuple(unparsed[:MOST_UNPARSED]), prose, tuple(notes))


def _end_of_line(text: str, number: int) -> int:
    """The offset behind a line; that of the end where there are fewer."""
    at = -1
    for _ in range(number):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at


def _spoken(part: Part) -> Iterator[Part]:
    """The parts of a part: a fence that holds a list of sentences is that list."""
    full = [line for line in part.lines if line.text.strip()] if part.kind is PartKind.FENCE else []
    said = [line for line in full if _SENTENCE.match(line.text)]
    if part.info in DIFFS or len(said) < FEWEST_SENTENCES or len(said) < 0.6 * len(full):
        yield part
        return
    for line in said:
        yield replace(part, kind=PartKind.PROSE, lines=(line,), info="")


@cache
def _forms() -> tuple[ModuleType, ...]:
    return tuple(modules_in("stethoscope.review.forms"))


def _without_measured(proposals: Iterable[Proposal], measured: list[Observation]) -> list[Proposal]:
    """The proposals that are not the course of a series: `loss: 6.0 -> 0.06` changes no setting."""
    courses = {(one.where.line, value) for one in measured for value in one.values}
    return [p for p in proposals if (p.where.line, p.to) not in courses]


def _in_order(proposals: list[Proposal]) -> Iterator[Proposal]:
    yield from sorted(proposals, key=lambda one: one.where.line or 0)


def _at(one: Proposal, file: str) -> Proposal:
    return replace(one, where=Where(file, line=one.where.line))


def _silent_sentences(part: Part, file: str) -> Iterator[Unparsed]:
    """The sentences of a paragraph that say nothing which could be judged, beside others that do."""
    whole = part.text
    ends = [*(found.end() for found in _END.finditer(whole)), len(whole)]
    for begin, end in pairwise((0, *ends)):
        line = Line(part.line_at(begin), whole[begin:end])
        alone = replace(part, lines=(line,))
        is_read = any(True for form in _forms() for _ in form.read(alone))
        if not is_read and not any(True for _ in observations(alone)):
            yield from _sentence(alone, file)


def _sentence(part: Part, file: str) -> Iterator[Unparsed]:
    text = plain(part.text)
    if len(re.findall(r"[^\W\d_]{2,}", text)) >= FEWEST_WORDS:
        yield Unparsed(text[:300], Where(file, line=part.lines[0].number))
