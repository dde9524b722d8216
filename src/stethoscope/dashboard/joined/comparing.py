"""Two runs side by side, as `stethoscope compare` sees them."""

from __future__ import annotations

from stethoscope.dashboard.houses import House
from stethoscope.dashboard.joined.answer import Answer


def compared(house: House, good: str, bad: str) -> Answer:
    """Compare two runs, and write the page about it."""
    from stethoscope.compare import compare
    from stethoscope.dashboard.pages import comparison
    from stethoscope.report import compare_json
    from stethoscope.report.plain_json import plain

    result = compare(str(house.path(good)), str(house.path(bad)))
    told = {name: plain(value) for name, value in compare_json.as_dict(result).items()}
    return Answer(comparison.title(result), str(comparison.content(result)), told, comparison.charts(result))
