"""Lint told as text, JSON, SARIF and GitHub annotations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stethoscope.lint import LintReport, lint
from stethoscope.report import lint_github, lint_json, lint_sarif, lint_text
from stethoscope.report.terminal import plain_console
from stethoscope.report.text_position import position
from tests.lint.trainings import HEALTHY, SICK, TEXT_NUMBER, written

SARIF_SCHEMA = Path(__file__).parents[1] / "fixtures" / "sarif" / "sarif-2.1.0-rtm.4.json"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LintReport:
    """Findings in source and settings, with a fix, a file that is broken and a comment that is wrong."""
    monkeypatch.chdir(tmp_path)
    written(
        tmp_path,
        {
            "pyproject.toml": "",
            "train.py": SICK,
            "conf/a b.yaml": f"# é, 100%: stethoscope: ignore[X]\n{TEXT_NUMBER}",
            "broken.py": "def f(:\n",
            "tests/test_a.py": SICK,
        },
    )
    return lint(["."])


def text(report: LintReport, **how: Any) -> str:
    return lint_text.render(report, plain_console(100), **how)


def test_text_shows_the_line_why_it_matters_and_the_fix(report: LintReport) -> None:
    told = text(report)
    assert "train.py:9:16 COD101 ssim is the similarity (SSIM); it is minimised\n" in told
    assert "    9 | loss = ssim(output, y)\n      |        ^^^^^^^^^^^^^^^\n" in told
    assert "    why: The optimiser does what it is told" in told
    assert "    also: train.py:10\n" in told
    assert "    fix: return the dissimilarity (--fix)\n" in told
    assert re.search(r"^2 findings in 2 files: \d+ rules? looked at 2 files \(15 lines\)\.$", told, re.M)
    assert "2 findings fixable with --fix" in told
    assert re.search(r"^\d+ rules not examined: .*--verbose says why\.$", told, re.M | re.S)
    assert "Not read\n  broken.py: not valid Python" in told
    assert "\x1b" not in told


def test_text_says_more_when_asked(report: LintReport) -> None:
    told = text(report, verbose=True)
    assert re.search(r"Not examined\n  \w{3}\d{3} ", told)
    assert re.search(r"Left out\n  tests/test_a.py: tests, documentation", told)


def test_text_counts_when_asked(report: LintReport) -> None:
    assert text(report, statistics=True).startswith(
        "     1  COD101  similarity-minimised (1 fixable)\n"
        "     1  SET102  number-is-a-string (1 fixable)\n"
        "\n2 findings"
    )


def test_text_of_nothing_found_says_who_looked(tmp_path: Path) -> None:
    told = text(lint([written(tmp_path, {"train.py": HEALTHY})]))
    assert told.startswith("Nothing found: ")
    assert "not examined" in told


def test_the_same_reason_is_given_once(tmp_path: Path) -> None:
    told = text(lint([written(tmp_path, {"a.py": SICK, "b.py": SICK})]))
    assert told.count("why:") == 1


def test_a_line_of_megabytes_and_escapes_do_no_harm(tmp_path: Path) -> None:
    long = SICK.replace("ssim(output, y)", f"ssim(output, y)  # \x1b[31m{'x' * 100_000}")
    told = text(lint([written(tmp_path, {"train.py": long})]))
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) < 1000


def test_tabs_and_wide_characters_keep_the_caret_in_place(tmp_path: Path) -> None:
    tabbed = SICK.replace("    ", "\t").replace("import torch\n", "import torch  # é\n")
    told = text(lint([written(tmp_path, {"train.py": tabbed})]))
    assert "| loss = ssim(output, y)\n      |        ^^^^^^^^^^^^^^^\n" in told


def test_json_keeps_its_contract(report: LintReport) -> None:
    told = json.loads(lint_json.render(report))
    jsonschema.Draft202012Validator.check_schema(lint_json.schema())
    jsonschema.validate(told, lint_json.schema())
    source = next(one for one in told["findings"] if one["code"] == "COD101")
    assert source["where"][0] == {
        "file": "train.py",
        "line": 9,
        "column": 16,
        "end": {"line": 9, "column": 31},
    }
    assert source["fix"]["edits"] == [
        {
            "file": "train.py",
            "start": {"line": 9, "column": 16},
            "end": {"line": 9, "column": 31},
            "text": "(1 - ssim(output, y))",
        }
    ]
    assert {one["code"] for one in told["not_examined"]}.isdisjoint(one["code"] for one in told["clear"])
    assert [Path(one["file"]).name for one in told["unread"]] == ["broken.py"]


def test_sarif_is_valid(report: LintReport) -> None:
    log = json.loads(lint_sarif.render(report))
    schema = json.loads(SARIF_SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(schema).validate(log)


def test_sarif_says_where_what_and_how_to_mend_it(report: LintReport) -> None:
    (run,) = json.loads(lint_sarif.render(report))["runs"]
    rules = run["tool"]["driver"]["rules"]
    by_code = {one["ruleId"]: one for one in run["results"]}
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    assert "## When it is harmless" in rules[by_code["COD101"]["ruleIndex"]]["help"]["markdown"]
    place = by_code["COD101"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 9, "startColumn": 16, "endLine": 9, "endColumn": 31}
    (fix,) = by_code["COD101"]["fixes"]
    assert fix["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "(1 - ssim(output, y))"
    quoted = by_code["SET102"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert quoted == "conf/a%20b.yaml"
    said = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert any("broken.py could not be read" in one for one in said)
    assert any("was not examined" in one for one in said)


def test_a_fingerprint_survives_lines_added_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def marks(content: str) -> list[str]:
        log = json.loads(lint_sarif.render(lint([written(tmp_path, {"train.py": content})])))
        return [one["partialFingerprints"]["stethoscopeFinding/v1"] for one in log["runs"][0]["results"]]

    first = marks(SICK)
    assert marks("import os\n\n" + SICK) == first
    assert marks(SICK.replace("output", "out")) != first


def test_github_shows_each_finding_beside_its_line(report: LintReport) -> None:
    lines = lint_github.render(report).splitlines()
    assert len(lines) == 2
    place = "file=conf/a b.yaml,line=2,col=5,endLine=2,endColumn=9"
    assert lines[0].startswith(f"::warning title=SET102 number-is-a-string,{place}::lr: PyYAML loads 1e-4")
    assert lines[1].startswith("::error title=COD101 similarity-minimised,file=train.py,line=9,col=16,")
    assert "%0Afix: return the dissimilarity (--fix)" in lines[1]


def test_positions_count_from_one() -> None:
    assert [position("ab\ncd", at) for at in (0, 1, 2, 3, 5)] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)]


def test_sarif_names_a_file_from_elsewhere_whole(tmp_path: Path) -> None:
    assert lint_sarif.artifact("/elsewhere/my train.py", tmp_path) == {
        "uri": "file:///elsewhere/my%20train.py"
    }
