"""The colours of a picture, on light and on dark backgrounds.

Six colours for lines, each at a contrast of at least 3 to the background, and any two of them apart for
people who see fewer colours than others; a test computes both. More than six lines take dashes as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stethoscope.figures.chart import Band, Chart, Line, Tone

# "auto" follows what the reader's screen is set to; a picture without a screen is light or dark.
Theme: TypeAlias = Literal["auto", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Colours:
    """What everything is drawn in, as #rrggbb."""

    background: str
    ink: str  # titles, names
    faint_ink: str  # ticks, notes
    axis: str
    grid: str
    muted: str
    area: float  # how much of a colour an area keeps
    lines: tuple[str, ...]


LIGHT = Colours(
    background="#FFFFFF",
    ink="#1F2328",
    faint_ink="#59636E",
    axis="#818B98",
    grid="#E4E8EC",
    muted="#808A94",
    area=0.25,
    lines=("#0072B2", "#D55E00", "#2F9A1F", "#8716F4", "#CC5C8C", "#5C3F00"),
)
DARK = Colours(
    background="#14181D",
    ink="#E6EAEF",
    faint_ink="#9DA7B3",
    axis="#6E7681",
    grid="#2A3038",
    muted="#848D97",
    area=0.4,
    lines=("#56B4E9", "#F28E4B", "#B5E3A0", "#A07CFF", "#F7559F", "#FDDE20"),
)

GOOD, BAD = 0, 1  # the slots that these tones have in every picture
MUTED = -1


@dataclass(frozen=True, slots=True)
class Slot:
    """Which colour something is drawn in, and how often all colours were used up before it."""

    colour: int  # an index of `Colours.lines`, or MUTED
    turn: int = 0


def slots(charts: Sequence[Chart]) -> list[dict[str, Slot]]:
    """The colour of every name in every chart; a name that several charts share has one colour in all."""
    held = [dict.fromkeys(_names(chart)) for chart in charts]
    counts = Counter(name for names in held for name in names)
    shared = [name for name, count in counts.items() if count > 1]
    toned = {name: tone for chart in charts for name, tone in _tones(chart)}
    everywhere = _given_out(shared, toned, ())
    return [_given_out(names, toned, everywhere.items()) for names in held]


def _names(chart: Chart) -> Iterator[str]:
    for drawn in _drawn(chart):
        yield drawn.name


def _tones(chart: Chart) -> Iterator[tuple[str, Tone]]:
    for drawn in _drawn(chart):
        if drawn.tone is not None:
            yield drawn.name, drawn.tone


def _drawn(chart: Chart) -> Iterator[Line | Band]:
    yield from chart.lines
    yield from chart.bands


def _given_out(
    names: Iterable[str], toned: dict[str, Tone], before: Iterable[tuple[str, Slot]]
) -> dict[str, Slot]:
    """A slot for every name: what it has already, what its tone asks for, or the first that is free."""
    names = list(names)
    given = {name: slot for name, slot in before if name in names}
    for name in names:
        if name not in given and name in toned:
            given[name] = of_tone(toned[name])
    free = _free(set(given.values()))
    for name in names:
        if name not in given:
            given[name] = next(free)
    return given


def slot_of(drawn: Line | Band, given: dict[str, Slot]) -> Slot:
    """The slot of a line or band: by its own tone, else by its name."""
    return given[drawn.name] if drawn.tone is None else of_tone(drawn.tone)


def of_tone(tone: Tone) -> Slot:
    """The slot that a tone has in every picture."""
    return Slot({"good": GOOD, "bad": BAD, "muted": MUTED}[tone])


def _free(taken: set[Slot]) -> Iterator[Slot]:
    turn = 0
    while True:
        for colour in range(len(LIGHT.lines)):
            if Slot(colour, turn) not in taken:
                yield Slot(colour, turn)
        turn += 1
