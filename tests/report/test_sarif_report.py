"""A diagnosis as SARIF has every finding at its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stethoscope.report import sarif_report
from tests.report import patients


def log(root: Path = Path("/elsewhere")) -> Any:
    return json.loads(sarif_report.render(patients.sick(), root))["runs"][0]


def test_every_finding_is_a_result_at_its_file_and_line() -> None:
    fault, decline, scale = log()["results"]
    assert (fault["ruleId"], fault["level"]) == ("COD101", "error")
    assert fault["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "losses.py"
    assert fault["locations"][0]["physicalLocation"]["region"] == {"startLine": 41}
    assert fault["properties"]["causes"] == ["loss-sign-inverted"]
    assert decline["locations"][0]["logicalLocations"][0]["name"] == "val/psnr"
    assert decline["properties"]["onsetStep"] == 100
    assert scale["suppressions"][0]["justification"].startswith("the scale is 2^21")


def test_rules_are_named_by_their_place_and_unexamined_ones_are_told() -> None:
    run = log()
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(rules)
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["associatedRule"] == {"id": "NUM101", "index": rules.index("NUM101")}


def test_a_fingerprint_stays_and_is_no_other_findings() -> None:
    marks = [one["partialFingerprints"] for one in log()["results"]]
    assert marks == [one["partialFingerprints"] for one in log()["results"]]
    assert len({json.dumps(mark) for mark in marks}) == 3


def test_a_hostile_run_is_strict_json() -> None:
    json.loads(sarif_report.render(patients.hostile()).encode("utf-8"))
