"""How often stated probabilities come true, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stethoscope.clinic.faultbench.scoring import Bin
from stethoscope.figures.chart import Chart, Figure, Line


def picture(bins: Mapping[str, Sequence[Bin]]) -> Figure:
    """The share of first causes that are right over their probability, one line for each set of runs."""
    even = Line("as stated", (0.0, 1.0), (0.0, 1.0), "dashed", "muted")
    lines = [
        Line(
            _named(name, some),
            [one.probability for one in some],
            [one.right / one.of for one in some],
            "dots",
        )
        for name, some in bins.items()
        if some
    ]
    chart = Chart(
        x_label="probability of the first cause",
        y_label="how often it is right",
        lines=[even, *lines],
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
    )
    return Figure(
        "How often probabilities come true",
        [chart],
        columns=1,
        caption="Ten bins of as many runs each. Below the dashed line a cause is right less often than said.",
    )


def _named(name: str, bins: Sequence[Bin]) -> str:
    return f"{name} ({sum(one.of for one in bins)} runs)"
