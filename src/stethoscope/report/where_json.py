"""Addresses in JSON, the same in every report."""

from __future__ import annotations

from collections.abc import Iterable

from stethoscope.run import Where


def where_json(place: Where) -> dict[str, object]:
    """An address, without the parts it does not have."""
    address: dict[str, object] = {"file": place.file}
    if place.line is not None:
        address["line"] = place.line
    if place.series is not None:
        address["series"] = place.series
    if place.steps is not None:
        address["steps"] = {"first": place.steps[0], "last": place.steps[1]}
    return address


def places_json(places: Iterable[Where]) -> list[dict[str, object]]:
    """Several addresses, each once."""
    return [where_json(place) for place in dict.fromkeys(places)]
