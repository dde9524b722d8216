"""Lines of text in four kinds: brackets, sums, sentences and copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

# The first character fills lines up, the second ends them.
ALPHABET = "_\n 0123456789+=;()[]{}abcdefghijklmnopqrstuvwxyz.>"
NUMBERS = {character: number for number, character in enumerate(ALPHABET)}
LENGTH = 33  # of a line with its end: one more than the network sees at once
TRAIN, VAL = 2048, 96

ADJECTIVES = ("red", "big", "old", "shy", "wild", "calm")
NOUNS = ("fox", "dog", "bird", "lamb", "crow", "goat", "king")
VERBS = ("see", "hear", "help", "find", "greet")
PAIRS = ("()", "[]", "{}")


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Lines to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some lines as numbers of characters, and the kind of each."""
    kinds = rng.integers(len(KINDS), size=count)
    tokens = np.zeros((count, LENGTH), np.uint8)
    for row, kind in zip(tokens, kinds, strict=True):
        line = KINDS[kind](rng)[: LENGTH - 1] + "\n"
        row[: len(line)] = [NUMBERS[character] for character in line]
    return {"tokens": tokens, "kind": kinds.astype(np.int64)}


def _brackets(rng: np.random.Generator) -> str:
    """Brackets of three kinds, each closed by its own."""
    line, still_open = "", ""
    for _ in range(int(rng.integers(10, 24))):
        if not still_open or (len(still_open) < 4 and rng.random() < 0.5):
            pair = PAIRS[rng.integers(3)]
            line, still_open = line + pair[0], pair[1] + still_open
        else:
            line, still_open = line + still_open[0], still_open[1:]
    return line + still_open


def _sums(rng: np.random.Generator) -> str:
    """Two to four sums of two digits."""
    digits = rng.integers(10, size=(int(rng.integers(2, 5)), 2))
    return ";".join(f"{a}+{b}={a + b}" for a, b in digits)


def _sentence(rng: np.random.Generator) -> str:
    """Who does what to whom; the verb agrees with who."""
    many = rng.random() < 0.5
    verb = VERBS[rng.integers(len(VERBS))]
    who = _phrase(rng, many)
    return f"{who} {verb if many else verb + 's'} {_phrase(rng, rng.random() < 0.5)}."


def _phrase(rng: np.random.Generator, many: bool) -> str:
    noun = NOUNS[rng.integers(len(NOUNS))]
    adjective = ADJECTIVES[rng.integers(len(ADJECTIVES))]
    return f"two {adjective} {noun}s" if many else f"a {noun}"


def _copy(rng: np.random.Generator) -> str:
    """One letter after the other, and all of them again."""
    letters = "".join("abcdefgh"[i] for i in rng.integers(8, size=int(rng.integers(4, 10))))
    return f"{letters}>{letters}"


KINDS: tuple[Callable[[np.random.Generator], str], ...] = (_brackets, _sums, _sentence, _copy)
