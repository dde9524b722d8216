"""Text from strangers' files, made safe to print.

File names, log lines and settings may hold terminal escapes, line breaks, invisible characters that
reorder what is shown, or megabytes. They are shown as what they are, and never act.
"""

from __future__ import annotations

import re

LONGEST_LINE = 2000  # a finding's message fits; a log line of megabytes does not

SPACES = re.compile(r"\s+")


def one_line(text: object, longest: int = LONGEST_LINE) -> str:
    """The text on one line, every run of white space a single space."""
    return visible(SPACES.sub(" ", shortened(str(text), longest)).strip())


def visible(text: str) -> str:
    """The text with every character that could act on a terminal, or be unseen, written as an escape."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def shortened(text: str, longest: int) -> str:
    """The text, its middle left out where it is longer than that."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text):,} characters)"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
