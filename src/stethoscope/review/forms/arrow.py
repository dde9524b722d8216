"""A value, an arrow, and another value, with the name before or behind.

Lower learning rate: 1e-4 -> 5e-5 for stability        Slower curriculum: 5,000 -> 20,000 preschool steps
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.review.claim import Proposal
from stethoscope.review.intent import OLD, intent
from stethoscope.review.parts import Part, PartKind, plain
from stethoscope.review.values import NUMBER
from stethoscope.run import Where

_ARROW = r"\s*(?:→|⟶|➜|➡|⇒|-{1,2}>|=>)️?\s*"
_SIDE = rf"(?:`[^`]{{1,60}}`|\"[^\"]{{1,40}}\"|\[[^\]]{{1,60}}\]|{NUMBER}|[A-Za-z][\w.-]{{0,30}})"
_PAIR = re.compile(rf"(?P<old>{_SIDE}){_ARROW}(?P<new>{_SIDE})")
_NUMBER = re.compile(NUMBER)
_NOT_BEHIND = re.compile(
    r"\b(?:for|to|so|because|which|since|and|or|as|until|in order)\b|[.;,(–—]", re.IGNORECASE
)
_HEAD = re.compile(r"[.;!?]\s")
# `grad_clip = 0.5, also `: what stands before is another setting, with a value of its own.
_TOLD = re.compile(rf"{NUMBER}[`*)]*\s*(?:,|\band\b|\bund\b)\s*")
LONGEST_NAME = 3  # words


def read(part: Part) -> Iterator[Proposal]:
    """Each pair with an arrow between; which of the words around it name the setting is decided later."""
    if part.kind in (PartKind.PROSE, PartKind.HEADING):
        whole = part.text
        for found in _PAIR.finditer(whole):
            before = _of_its_own(_HEAD.split(whole[: found.start()])[-1])
            behind = _NOT_BEHIND.split(whole[found.end() : found.end() + 60])[0]
            names = _names(plain(before), behind, found["old"], found["new"])
            if names and not (intent(before) == OLD and ":" not in before):
                yield Proposal(
                    plain(whole)[:300],
                    Where(line=part.line_at(found.start())),
                    names,
                    found["new"].strip('`"'),
                    found["old"].strip('`"'),
                    marked=True,
                    formal="`" in before,
                    block=part.number,
                )


def _of_its_own(before: str) -> str:
    """The words before a pair, without another setting that has its value."""
    told = [one.end() for one in _TOLD.finditer(before) if re.search("[A-Za-z]{2}", before[one.end() :])]
    return before[max(told, default=0) :]


def _names(before: str, behind: str, old: str, new: str) -> tuple[tuple[str, ...], ...]:
    """Code in backticks first, then the words behind the values, then those before them."""
    coded = re.findall(r"`([^`]{1,80})`", before)
    if not (_NUMBER.fullmatch(old.strip("`")) or old.startswith(("`", '"', "["))) and not behind.strip():
        return tuple((one,) for one in coded)
    keys = re.findall(r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b", before)
    words = [*coded[-1:], behind.strip(" `*:"), *keys[-1:], *_labels(before), *_last_words(before)]
    return tuple((word,) for word in words if re.search("[A-Za-z]{2}", word))


def _labels(before: str) -> list[str]:
    """`Reduce curriculum time:` and what stands before it."""
    label = before.rstrip(" *:`=(")
    return [part.strip(" *`") for part in reversed(re.split(r":\s", label)) if part.strip()]


def _last_words(before: str) -> list[str]:
    """`also warmup` is about warmup: the words right before the values, the longest first."""
    words = re.split(r":\s|\(", before.rstrip(" *:`=("))[-1].split()
    return [" ".join(words[-count:]) for count in range(min(LONGEST_NAME, len(words)), 0, -1)]
