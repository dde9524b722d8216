"""Dates as people say them, and as machines write them."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays


def words(told: str) -> tuple[str, ...]:
    """Words as they are told one after the other."""
    return tuple(told.split())


UNITS = words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth"
)
MONTHS = words("january february march april may june july august september october november december")
DAYS = words("monday tuesday wednesday thursday friday saturday sunday")
SMALL = words("the of on at in and past to quarter half noon midnight morning evening hundred thousand")
SPECIAL = ("<pad>", "<s>", "</s>")  # what fills up, begins and ends
SPOKEN = (*SPECIAL, *UNITS, *TENS, *ORDINALS, *MONTHS, *DAYS, *SMALL, *"0123456789", ",", "/")
WRITTEN = (*SPECIAL, *"0123456789", "-", "T", ":")
SAID = {word: number for number, word in enumerate(SPOKEN)}
MARK = {mark: number for number, mark in enumerate(WRITTEN)}
LONGEST, WRITTEN_LONGEST = 20, 17  # with their ends
TRAIN, VAL = 3072, 128


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Dates to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int, years: tuple[int, int] = (1950, 2030)) -> Arrays:
    """Some dates: what is said, what is written, in which manner, and how sure the annotator was."""
    manner = rng.integers(4, size=count)
    source = np.zeros((count, LONGEST), np.int64)
    target = np.zeros((count, WRITTEN_LONGEST), np.int64)
    for row, (spoken, written) in enumerate(_pair(rng, int(kind), years) for kind in manner):
        said = [*(SAID[word] for word in spoken), SAID["</s>"]]
        marks = [*(MARK[mark] for mark in written), MARK["</s>"]]
        source[row, : len(said)] = said
        target[row, : len(marks)] = marks
    trust = rng.uniform(0.6, 1.0, count).astype(np.float32)
    return {"source": source, "target": target, "manner": manner, "trust": trust}


def _pair(rng: np.random.Generator, manner: int, years: tuple[int, int]) -> tuple[list[str], str]:
    """A date in one of four manners: in figures, month first, in words, with the time of the day."""
    year, month, day = int(rng.integers(*years)), int(rng.integers(1, 13)), int(rng.integers(1, 29))
    written = f"{year}-{month:02d}-{day:02d}"
    if manner == 0:
        return [*f"{day:02d}/{month:02d}/{year}"], written
    if manner == 1:
        return [MONTHS[month - 1], *str(day), ",", *str(year)], written
    said = ["the", *_ordinal(day), "of", MONTHS[month - 1], *_year(year)]
    if rng.random() < 0.4:
        said = ["on", DAYS[int(rng.integers(7))], *said]
    if manner == 2:
        return said, written
    clock, time = _clock(rng)
    return [*said, "at", *clock], f"{written}T{time}"


def _ordinal(day: int) -> list[str]:
    if day <= 20:
        return [ORDINALS[day - 1]]
    return ["thirtieth"] if day == 30 else ["thirty" if day > 30 else "twenty", ORDINALS[day % 10 - 1]]


def _year(year: int) -> list[str]:
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return ["two", "thousand", *(("and", UNITS[rest - 1]) if rest else ())]
    return [*_below_hundred(century), *(_below_hundred(rest) if rest else ("hundred",))]


def _below_hundred(number: int) -> list[str]:
    if number < 20:
        return [UNITS[number - 1]]
    return [TENS[number // 10 - 2], *((UNITS[number % 10 - 1],) if number % 10 else ())]


def _clock(rng: np.random.Generator) -> tuple[list[str], str]:
    """A time of the day to the quarter."""
    hour, quarter = int(rng.integers(1, 12)), int(rng.integers(4))
    late = rng.random() < 0.5
    named = UNITS[hour - 1]
    spoken = {
        0: [named],
        1: ["quarter", "past", named],
        2: ["half", "past", named],
        3: ["quarter", "to", UNITS[hour]],
    }
    half = "evening" if late else "morning"
    return [*spoken[quarter], "in", "the", half], f"{hour + 12 * late:02d}:{15 * quarter:02d}"
