"""Text of an invented language: two hundred words, some said far more often than others."""

from __future__ import annotations

import math

import torch
from torch import Tensor

LETTERS = " abcdefghijklmnopqrstuvwxyz"  # a space ends every word
WORDS = 200
LANGUAGE_SEED = 77


def lexicon() -> tuple[list[str], Tensor]:
    """All words of the language, the same for everybody, and how often each is said."""
    chance = torch.Generator().manual_seed(LANGUAGE_SEED)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        length = int(torch.randint(2, 7, (), generator=chance))
        letters = torch.randint(1, len(LETTERS), (length,), generator=chance)
        words["".join(LETTERS[letter] for letter in letters.tolist())] = None
    share = 1 / (torch.arange(WORDS) + 3.0)
    return list(words), share / share.sum()


def speak(count: int, seed: int) -> tuple[str, float]:
    """Say `count` words; the text, and what the language itself needs for it in nats per character."""
    words, share = lexicon()
    said = torch.multinomial(share, count, replacement=True, generator=torch.Generator().manual_seed(seed))
    text = "".join(words[word] + " " for word in said.tolist())
    return text, -float(share[said].double().log().sum()) / len(text)


def encode(text: str) -> Tensor:
    """The numbers of the letters."""
    return torch.tensor([LETTERS.index(letter) for letter in text])


GUESSING = math.log(len(LETTERS))  # nats per character of somebody who knows the alphabet alone
