"""The known name that somebody meant: by its spelling, the order of its words, or what it begins with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Mistakes that a name of fewer letters may hold: mask and task are two names, weigth_decay is one misspelt.
# Of 5,000 flags of other programs, at most one in 200 is taken for a slip in a given framework's names.
_MISTAKES = ((5, 0), (9, 1), (16, 2))
MOST_MISTAKES = 3
FIRST_LETTER = 10  # letters below which the first one is never mistaken: trainer and retainer are two names
SHORTEST_BEGINNING = 3  # letters: `len`, `num`, `dim`
SHORT_WORD = 3  # letters of a word that is another word when one is changed: gpu and cpu
BEGINNING = 4  # letters from which a word stands for a longer one: grad for gradient


@dataclass(frozen=True, slots=True)
class Likeness:
    """A name that was meant; `clear` where no other comes near and only the spelling differs."""

    name: str = ""
    clear: bool = False

    def __bool__(self) -> bool:
        return bool(self.name)


def nearest(name: str, known: Iterable[str], renamed: Mapping[str, str] | None = None) -> Likeness:
    """The known name that was meant, or none rather than a guess."""
    names = sorted(set(known) - {name})
    other = (renamed or {}).get(name, "")
    if other in names:
        return Likeness(other, clear=True)
    for alike in (_same_letters, _same_words, _abbreviated):
        found = [one for one in names if alike(name, one)]
        if found:
            return Likeness(found[0], clear=len(found) == 1)
    return _misspelt(name, names) or _shortened(name, names)


def _same_letters(one: str, other: str) -> bool:
    return _letters(one) == _letters(other)


def _same_words(one: str, other: str) -> bool:
    return len(_words(one)) > 1 and sorted(_words(one)) == sorted(_words(other))


def _abbreviated(one: str, other: str) -> bool:
    """`max_len` and `max_length`: word by word the same, or the beginning of the other."""
    pairs = list(zip(_words(one), _words(other), strict=False))
    if len(_words(one)) != len(_words(other)) or not any(a == b for a, b in pairs):
        return False
    shorter = [min(pair, key=len) for pair in pairs if pair[0] != pair[1]]
    is_begun = all(a.startswith(b) or b.startswith(a) for a, b in pairs)
    return is_begun and all(len(word) >= SHORTEST_BEGINNING and word.isalpha() for word in shorter)


def _misspelt(name: str, names: Iterable[str]) -> Likeness:
    """The name that the fewest slips of the pen lead to."""
    allowed = next((most for length, most in _MISTAKES if len(name) < length), MOST_MISTAKES)
    reached: dict[int, list[str]] = {}
    for other in names:
        slips = mistakes(name.lower(), other.lower(), allowed) if _comparable(name, other) else None
        if slips is not None:
            reached.setdefault(slips, []).append(other)
    if not reached:
        return Likeness()
    best = reached[min(reached)]
    return Likeness(best[0], clear=len(best) == 1)


def _comparable(name: str, other: str) -> bool:
    """Not two of a row (beta1, beta2), nor two that differ by a word of its own (train_size, eval_size)."""
    if re.sub(r"\d", "", name) == re.sub(r"\d", "", other):
        return False
    if len(name) < FIRST_LETTER and name[:1].lower() != other[:1].lower():
        return False
    ours, theirs = _words(name), _words(other)
    if len(ours) != len(theirs):
        return True
    differing = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    return all(_may_be_one(a, b) for a, b in differing)


def _may_be_one(word: str, other: str) -> bool:
    """Whether two words may be one, misspelt: at most a third of the letters differ."""
    shorter = min(len(word), len(other))
    if shorter <= SHORT_WORD:
        lost_or_swapped = len(word) != len(other) or sorted(word) == sorted(other)
        return lost_or_swapped and mistakes(word, other, 1) is not None
    return mistakes(word, other, max(1, shorter // 3)) is not None


def _shortened(name: str, names: Iterable[str]) -> Likeness:
    """A name that begins with a known one or the other way round, word by word; offered, never sure."""
    words = _words(name)
    found = [other for other in names if _begins(words, _words(other)) or _begins(_words(other), words)]
    if not found:
        return Likeness()
    return Likeness(min(found, key=lambda other: (abs(len(other) - len(name)), other)))


def _begins(short: list[str], long: list[str]) -> bool:
    """Whether every word stands for the one in its place: grad_clip for gradient_clip_val."""
    return (
        len(short) > 1
        and len(short) <= len(long)
        and all(_stands_for(a, b) for a, b in zip(short, long, strict=False))
    )


def _stands_for(word: str, other: str) -> bool:
    return word == other or (len(word) >= BEGINNING and other.startswith(word))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _words(name: str) -> list[str]:
    """The words of a name in lower case: snake_case, kebab-case, camelCase."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[\W_]+", parted.lower()) if word]


def mistakes(one: str, other: str, most: int) -> int | None:
    """How many letters must be added, dropped, changed or swapped; None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else None
