"""Text from strangers' files, made safe to print.

File names, log lines and settings may hold terminal escapes, line breaks, invisible characters that
reorder what is shown, or megabytes. They are shown as what they are, and never act.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_LINE = 2000  # a finding's message fits; a log line of megabytes does not

# Control and format characters (terminal escapes, bidirectional overrides, zero-width ones), line and
# paragraph separators, lone surrogates and private use.
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
SPACES = re.compile(r"\s+")


def one_line(text: object, longest: int = LONGEST_LINE) -> str:
    """The text on one line, every run of white space a single space."""
    return visible(SPACES.sub(" ", shortened(str(text), longest)).strip())


def visible(text: str) -> str:
    """The text with every character that could act on a terminal written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def shortened(text: str, longest: int) -> str:
    """The text, its middle left out where it is longer than that."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text):,} characters)"


def _shown(letter: str) -> str:
    if unicodedata.category(letter) not in UNSAFE_CATEGORIES:
        return letter
    return letter.encode("unicode_escape").decode("ascii")
