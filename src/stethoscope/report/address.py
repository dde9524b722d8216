"""Addresses as the terminal report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.palette import ADDRESS
from stethoscope.run import Where

LONGEST = 300


def address(places: Sequence[Where], everything: bool = False) -> Text:
    """The places in brackets, the most telling one first; the others only where asked for."""
    if not places:
        return Text("")
    shown = places if everything else [brief(place) for place in places[:1]]
    more = f" and {len(places) - len(shown):,} more" if len(places) > len(shown) else ""
    return Text.assemble(" [", ("; ".join(one_line(place, LONGEST) for place in shown), ADDRESS), more, "]")


def file_name(file: str) -> tuple[str, str]:
    """A file's name in the style of an address."""
    return one_line(file, LONGEST), ADDRESS


def brief(place: Where) -> Where:
    """A series has one name in a run: which log it stands in is told once, where the logs are listed."""
    return replace(place, file="") if place.series and place.line is None else place
