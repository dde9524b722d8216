"""The whole diagnosis of a run for programs: the report of `stethoscope diagnose --format json`."""

from __future__ import annotations

from typing import Any

from stethoscope.dashboard.houses import House
from stethoscope.diagnose import diagnose
from stethoscope.report import json_report
from stethoscope.report.plain_json import plain


def report_of(house: House, inside: str) -> dict[str, Any]:
    """The JSON report, schema 1."""
    told = json_report.as_dict(diagnose(str(house.path(inside))))
    return {name: plain(value) for name, value in told.items()}
