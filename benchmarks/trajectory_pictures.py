"""The picture of the study of trajectories: how wide bands grow, what checks find and wrongly accuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.detectors.distributions import clopper_pearson
from stethoscope.figures.chart import Chart, Estimate, Estimates, Figure, Line

Row = Mapping[str, Any]


def picture(record: Mapping[str, Any]) -> Figure:
    """The width of forecasts on the left, the answers of checks on the right."""
    return Figure(
        title="How far a trajectory can be trusted",
        panels=[_width(record["forecasts"]), _checks(record["checks"])],
        columns=2,
    )


def _width(rows: Sequence[Row]) -> Chart:
    """Losses only: the band of a score has another unit."""
    losses = [row for row in rows if row["unit"] == "log"]
    kinds = dict.fromkeys(row["kind"] for row in losses)
    return Chart(
        title="How wide the band of a loss is",
        x_label="how far ahead, in lengths of what is known",
        y_label="highest loss of the band, times the expected",
        lines=[
            Line(kind, [row["horizon"] for row in of], [float(np.exp(row["half_width"])) for row in of])
            for kind in kinds
            for of in [[row for row in losses if row["kind"] == kind]]
        ],
        y_limits=(1.0, None),
    )


def _checks(rows: Sequence[Row]) -> Estimates:
    estimates = []
    for row in rows:
        runs = f"{row['seeds']} run{'s' if row['seeds'] > 1 else ''} in the file"
        found = round(row["doubled"] * row["draws"])
        for name, hits, tone in (
            (f"accused, {runs}", row["alarms"], "bad"),
            (f"found, {runs}", found, "good"),
        ):
            low, high = clopper_pearson(hits, row["draws"])
            share = hits / row["draws"]
            estimates.append(Estimate(name, share, low, high, tone, f"{share:.1%}"))
    return Estimates(
        "What a check says",
        "share of runs, with its 95 % interval",
        estimates,
        note="Accused: a healthy run. Found: losses twice as high from a third on.",
    )
