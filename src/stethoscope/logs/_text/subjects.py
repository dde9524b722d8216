"""Lines that say which of several things trained side by side they are about.

    [teacher] step 10 loss 1.73          teacher step 10/300 loss 1.73          step 10 [D] loss 0.61
    [student] step 10 loss 3.07          student step 10/300 loss 3.07          step 10 [G] loss 2.44

Such words belong to the names of what the lines measure: without them two curves would become one. Words
that follow each other through a run, `[warm-up]` and then `[main]`, are its phases and name nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.logs._text.counting import EPOCH, STEP
from stethoscope.logs._text.pairs import Field, Parsed
from stethoscope.logs._text.roles import counter_word, counts_of, role_in, tag_of
from stethoscope.run.names import canonical

FEWEST_LINES = 3  # about each subject
FEWEST_TURNS = 3  # that the lines change from one subject to another: phases change once
SHARED = 0.5  # of the counts of the rarer subject that the other has, too

_TAG = re.compile(r"[\[<(]([^\W\d_][\w-]{0,19})[\])>]")
_LEADING = re.compile(r"(?P<tag>[^\W\d_][\w-]{0,19}) (?P<counter>[^\W\d_]+)")
_NO_SUBJECT = re.compile(r"best|last|final|first|avg|mean|max|min|std|end|start|begin\w*|after|before", re.I)


@dataclass(slots=True)
class _Lines:
    """Where the lines about one subject stand, what they count and what they measure."""

    places: list[int]
    counts: set[float]
    names: set[str]


def subject_of(found: Parsed) -> str:
    """What a line says that it is about, before its first measurement; "" for nothing."""
    if tag := tag_of(found) or _leading(found):
        return tag
    for one in found.fields[:2]:
        if tagged := _TAG.search(one.context):
            return "" if _is_no_subject(tagged[1]) else tagged[1]
        if not counter_word(one.name):
            break
    return ""


def side_by_side(lines: Iterable[tuple[int, Parsed, str]]) -> frozenset[str]:
    """The subjects of a log whose lines take turns, count alike and measure alike: place, line and text."""
    held: dict[str, _Lines] = {}
    for at, line, text in lines:
        subject = subject_of(line)
        counts = counts_of(about(line, frozenset({subject})), text) if subject else {}
        if counts:
            of = held.setdefault(subject, _Lines([], set(), set()))
            of.places.append(at)
            of.counts.add(counts.get(STEP, counts.get(EPOCH, 0.0)))
            of.names |= {canonical(one.name) for one in line.fields if not counter_word(one.name)}
    often = {subject: of for subject, of in held.items() if len(of.places) >= FEWEST_LINES}
    return frozenset(
        one for one in often if any(_take_turns(often[one], often[two]) for two in often if two != one)
    )


def about(found: Parsed, subjects: frozenset[str]) -> Parsed:
    """A line with its subject in the names of its measurements, where it has one of these subjects."""
    subject = subject_of(found)
    if subject not in subjects:
        return found
    return replace(found, fields=tuple(_about(one, subject) for one in found.fields))


def _about(one: Field, subject: str) -> Field:
    counter = one.name.removeprefix(f"{subject} ")
    if not one.name or counter_word(counter):
        return replace(one, name=counter)
    return replace(one, name=f"{subject} {one.name}")


def _leading(found: Parsed) -> str:
    """The word before the counter that a line begins with: `teacher` in `teacher step 10`."""
    first = found.fields[0] if found.fields else None
    said = _LEADING.fullmatch(first.name) if first else None
    if said is None or counter_word(first.name if first else "") or not counter_word(said["counter"]):
        return ""
    return "" if _is_no_subject(said["tag"]) else said["tag"]


def _is_no_subject(word: str) -> bool:
    return bool(role_in(word) or counter_word(word) or _NO_SUBJECT.fullmatch(word))


def _take_turns(one: _Lines, two: _Lines) -> bool:
    if not one.names & two.names:
        return False
    shared = len(one.counts & two.counts) / min(len(one.counts), len(two.counts))
    whose = np.array([0] * len(one.places) + [1] * len(two.places))
    turns = np.count_nonzero(np.diff(whose[np.argsort([*one.places, *two.places], kind="stable")]))
    return shared >= SHARED and int(turns) >= FEWEST_TURNS
