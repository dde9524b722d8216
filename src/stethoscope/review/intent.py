"""Whether words speak of what is there, or of what should be: "before" and "after" in many wordings."""

from __future__ import annotations

import re

OLD, NEW = "old", "new"

_CROSS = re.compile("[❌✗✘⛔🚫👎]")
_CHECK = re.compile("[✅✓✔👍☑]")
_OLD_WORDS = re.compile(
    r"\b(?:before|wrong|current(?:ly)?|old|problem\w*|bad|incorrect|original(?:ly)?|previous(?:ly)?|existing|broken"
    r"|caus(?:e|es|ed|ing)|too|issues?|errors?|mismatch\w*|instead of|your (?:config|settings|run)|at "
    r"the moment"
    r"|incompatib\w*|symptoms?|evidence|observed|diagnos\w*|actual|as is|today|right now|today's|faulty|avoid"
    r"|don'?t|do not|never|vorher|aktuell\w*|bisher\w*|falsch\w*|jetzig\w*|zu (?:hoch|niedrig|klein"
    r"|gro(?:ss|ß)))\b",
    re.IGNORECASE,
)
_NEW_WORDS = re.compile(
    r"\b(?:after|correct(?:ed|ion)?|fix(?:ed|es|ing)?|recommend\w*|propos\w*|new|better|good|optimi[sz]\w*|stable"
    r"|suggest\w*|improve\w*|should|use this|solutions?|option [a-z0-9]|steps? \d|remed\w*"
    r"|change[ds]? to|try|replace"
    r"|safer?|works?|working|instead|switch|reduce[ds]?|lower(?:ed)?|increase[ds]?|rais(?:e|ed)|enable|disable|set|use|add"
    r"|target|desired|apply|action|updated?|nachher|neu\w*|empfohlen\w*|besser\w*|korrigiert\w*|l(?:ö|oe)sung\w*|stattdessen)\b",
    re.IGNORECASE,
)
PREDICTION = re.compile(
    r"\b(?:expect\w*|should|will|would|target|after (?:the |these |this )?(?:fix|change)\w*|goal"
    r"|predict\w*|forecast"
    r"|anticipat\w*|hopefully|aim|ideal\w*|healthy|normal|warning signs?|erwartet\w*|sollte\w*|if)\b",
    re.IGNORECASE,
)


# Figures that are told of another training.
ELSEWHERE = re.compile(
    r"\b(?:without|for comparison|compared (?:to|with)|(?:other|another|previous|reference|baseline"
    r"|paper'?s?|original) (?:run|model|paper)"
    r"|reported|in the paper|vergleich)\b",
    re.IGNORECASE,
)


def marked(text: str) -> str:
    """What a tick or a cross says; "" where there is neither, or both."""
    old, new = bool(_CROSS.search(text)), bool(_CHECK.search(text))
    return "" if old == new else OLD if old else NEW


def intent(text: str) -> str:
    """Whether a heading, label or comment speaks of the old or of the new; the first word decides."""
    by_mark = marked(text)
    if by_mark:
        return by_mark
    old, new = _OLD_WORDS.search(text), _NEW_WORDS.search(text)
    if old and new:
        return OLD if old.start() < new.start() else NEW
    return OLD if old else NEW if new else ""


def around(headings: tuple[str, ...], lead: str = "") -> str:
    """What the words before a block say of it: the nearest that say anything."""
    for text in (lead, *reversed(headings)):
        said = intent(text)
        if said:
            return said
    return ""
