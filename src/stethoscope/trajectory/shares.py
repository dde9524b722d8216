"""Per cent and fractions: a metric between 0 and 1 that another log tells as 0 to 100."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from stethoscope.run import Series
from stethoscope.trajectory.trajectory import Held

_SHARES = re.compile(
    r"(?:acc|accuracy|top\d|precision|recall|f1|auc|auroc|m?iou|dice|m?ap\d*|error|wer|cer|exact_match|hellaswag"
    r"|mmlu|pass_rate|success_rate|mrr|ndcg)(?:_.*)?"
)
HUNDRED = 100.0
LARGEST_SHARE = 1.0
LEAST_PERCENT = 1.5  # the typical value of a metric in per cent lies above it, or the model learned nothing


def in_unit_of(held: Held, series: Series) -> Series:
    """The series in per cent where the band is, and as a fraction where the band is."""
    if not any(_SHARES.fullmatch(part) for part in re.split(r"[/ ]", held.name)):
        return series
    # What is expected is a share; the sides of its band may lie beyond 1.
    expected = [row.expected for row in held.rows if row.expected is not None]
    named = expected or [v for row in held.rows for v in (row.low, row.high) if v is not None]
    values = series.values[np.isfinite(series.values)]
    if not len(values) or not named:
        return series
    largest, typical = max(named), float(np.median(np.abs(values)))
    if largest <= LARGEST_SHARE and LEAST_PERCENT < typical <= HUNDRED:
        return replace(series, values=series.values / HUNDRED)
    if largest > LEAST_PERCENT and float(np.abs(values).max()) <= LARGEST_SHARE:
        return replace(series, values=series.values * HUNDRED)
    return series
