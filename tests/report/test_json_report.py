"""The JSON report is strict JSON, follows schema 1, and says what the diagnosis says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from stethoscope import Diagnosis
from stethoscope.report import json_report
from tests.report import patients

MADE = {
    "healthy": patients.healthy,
    "sick": patients.sick,
    "unknown": patients.unknown,
    "hostile": patients.hostile,
}


def strictly(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", MADE)
def test_every_report_is_strict_json_in_utf_8_and_fits_the_schema(name: str) -> None:
    written = json_report.render(MADE[name]())
    report = strictly(written.encode("utf-8").decode("utf-8"))
    jsonschema.Draft202012Validator(json_report.schema()).validate(report)


@pytest.mark.parametrize("name", MADE)
def test_every_name_in_a_report_is_described_in_the_schema(name: str) -> None:
    schema = json_report.schema()
    assert list(undescribed(json_report.as_dict(MADE[name]()), schema, schema)) == []


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(json_report.schema())


def test_a_sick_run_says_what_where_and_what_to_do() -> None:
    report = strictly(json_report.render(patients.sick()))
    assert report["schema"] == 1
    assert report["verdict"] == "sick"
    assert [cause["name"] for cause in report["causes"]] == ["loss-sign-inverted", "learning-rate-too-high"]
    first = report["causes"][0]
    assert (first["probability"], first["verdict"], first["onset_step"]) == (0.9987, "proved", 100)
    assert first["where"][0] == {"file": "losses.py", "line": 41}
    assert first["evidence_for"][0]["reason"] == "the source minimises a similarity"
    assert report["prescription"]["edits"][0]["diff"] == patients.DIFF
    assert report["prescription"]["checkpoint"]["loses"] == ["the optimiser"]
    assert report["benign"][0]["explains"] == ["loss-scale-high"]
    assert report["run"]["sources"][0] == {
        "path": "nano.yml",
        "kind": "settings",
        "origin": "run",
        "maintained": True,
        "changed_after_start": True,
    }


def test_what_no_cause_accounts_for_is_the_cause_unknown() -> None:
    causes = json_report.as_dict(patients.unknown())["causes"]
    assert isinstance(causes, list)
    assert [(cause["name"], cause["probability"]) for cause in causes] == [("unknown", 0.7)]
    assert causes[0]["evidence_for"][0]["message"] == "the loss jumps to 9"


def test_a_value_that_is_not_finite_is_a_word() -> None:
    evidence = strictly(json_report.render(patients.hostile()))["findings"][0]["evidence"]
    assert (evidence["values"], evidence["worst"], evidence["n"]) == (["nan", 1.0], "inf", 3)


def test_a_real_diagnosis_fits_the_schema(a_real_diagnosis: Diagnosis) -> None:
    report = strictly(json_report.render(a_real_diagnosis))
    jsonschema.Draft202012Validator(json_report.schema()).validate(report)


def undescribed(value: Any, described: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """The names in a report that its schema does not know."""
    described = resolved(described, root)
    if isinstance(value, list):
        for item in value:
            yield from undescribed(item, described.get("items", {}), root, f"{at}[]")
    if not isinstance(value, dict) or "properties" not in described:
        return
    for name, part in value.items():
        if name in described["properties"]:
            yield from undescribed(part, described["properties"][name], root, f"{at}.{name}")
        else:
            yield f"{at}.{name}"


def resolved(described: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in described:
        described = next(part for part in described["anyOf"] if part.get("type") != "null")
    if "$ref" in described:
        return root["$defs"][described["$ref"].rpartition("/")[2]]
    return described
