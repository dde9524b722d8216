"""What the diagnosis found and no document speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stethoscope.causes import RankedCause
from stethoscope.diagnose import Diagnosis
from stethoscope.review.claim import Claim, Missed, Ruling
from stethoscope.run import Where

# Words that every document about a training holds.
_COMMON = frozenset(
    {
        *("a", "an", "the", "is", "are", "was", "of", "by", "in", "at", "to", "and", "or", "not"),
        *("no", "does", "do", "its", "it", "with", "from", "for", "than", "that", "this", "has"),
        *("have", "be", "been", "training", "train", "model", "run", "wrong", "loss", "different"),
        *("too",),
    }
)
ENOUGH = 0.6  # of the telling words of a title, in one sentence
_WORD = re.compile(r"[a-z]{2,}")


def missed(diagnosis: Diagnosis, prose: Sequence[str], claims: Sequence[Claim]) -> tuple[Missed, ...]:
    """The causes that stand by themselves, less those that a document names or mends."""
    mended = {
        place
        for claim in claims
        if claim.ruling is Ruling.SUPPORTED
        for fact in claim.judgement.evidence
        for place in fact.where
    }
    lines = [frozenset(map(_stem, _WORD.findall(text.lower()))) for text in prose]
    return tuple(_missed(diagnosis, lines, prose, mended))


def _missed(
    diagnosis: Diagnosis, lines: list[frozenset[str]], prose: Sequence[str], mended: set[Where]
) -> Iterator[Missed]:
    for cause in diagnosis.explanation.causes:
        if not cause.stands or cause.consequence_of is not None:
            continue
        if _is_named(cause, lines, prose) or mended & set(cause.where):
            continue
        first = next((a for a in cause.arguments_for if a.finding), None)
        why = first.finding.message if first and first.finding else cause.entry.summary
        places = tuple(cause.where)[:3]
        yield Missed(
            cause.name, cause.entry.cause.title, cause.probability, cause.standing.value, why, places
        )


def _is_named(cause: RankedCause, lines: list[frozenset[str]], prose: Sequence[str]) -> bool:
    """Whether one sentence holds most of the title's telling words, or points at a line of the evidence."""
    words = {_stem(word) for word in _WORD.findall(cause.entry.cause.title.lower())} - {
        _stem(w) for w in _COMMON
    }
    needed = max(2, round(ENOUGH * len(words) + 0.49))
    if words and any(len(words & line) >= min(needed, len(words)) for line in lines if len(words) > 1):
        return True
    spots = {
        f"{place.file.rpartition('/')[2]}:{place.line}" for place in cause.where if place.file and place.line
    }
    if any(spot in text for spot in spots for text in prose):
        return True
    named = [_dead_name(argument.finding) for argument in cause.arguments_for if argument.finding]
    return any(name and _UNUSED.search(text) and name in text for name in named for text in prose)


_UNUSED = re.compile(
    r"\b(?:never (?:used|applied|read)|not (?:used|applied|implemented|read)|unused|ignored|dead|no "
    r"effect|does nothing|not actually)\b",
    re.IGNORECASE,
)


def _dead_name(finding: object) -> str:
    evidence = getattr(finding, "evidence", {})
    name = evidence.get("setting", "") if isinstance(evidence, dict) else ""
    return name if isinstance(name, str) else ""


def _stem(word: str) -> str:
    for ending in ("ising", "ized", "ised", "ation", "ing", "ions", "ion", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
