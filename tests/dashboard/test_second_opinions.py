"""Comparing two runs, and reviewing a document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stethoscope.dashboard.houses import number_of
from tests.dashboard.conftest import HEALTHY, Asked, run_in

Serving = Callable[..., Asked]
NOTES = "The learning rate is far too high.\n\n```yaml\nlr: 0.5\n```\n\nSet `lr` from 0.1 to 0.01.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "runs"
    good = run_in(home, "good")
    lines = HEALTHY.splitlines()
    apart = [f"{line.split(',')[0]},{float(line.split(',')[1]) * 3}" for line in lines[50:]]
    bad = run_in(home, "bad", "\n".join([*lines[:50], *apart]) + "\n")
    (good / "config.yaml").write_text("lr: 0.1\n")
    (bad / "config.yaml").write_text("lr: 0.4\n")
    (bad / "NOTES.md").write_text(NOTES)
    return home


def test_two_runs_are_compared_and_their_curves_drawn_together(folder: Path, serving: Serving) -> None:
    asked = serving()
    pair = {"good": number_of("run", "good"), "bad": number_of("run", "bad")}
    page = asked.client.get("/compare", params=pair)
    assert page.status_code == 200
    assert "bad parts from good at step" in page.text
    assert 'data-chart="chart-1"' in page.text
    told = asked.client.get("/compare.json", params=pair).json()
    assert told["part"] is True
    assert f"step {told['parts_at']:,}" in page.text


@pytest.mark.parametrize("pair", [{}, {"good": "x", "bad": "y"}, {"good": "../.."}])
def test_no_two_runs_are_no_comparison(pair: dict[str, str], folder: Path, serving: Serving) -> None:
    answer = serving().client.get("/compare", params=pair)
    assert answer.status_code == 404
    assert "Choose two runs" in answer.text


def test_a_document_of_the_folder_is_offered_and_reviewed(folder: Path, serving: Serving) -> None:
    asked = serving()
    assert "bad/NOTES.md" in asked.client.get("/review").text
    told = {"document": number_of("document", "bad/NOTES.md"), "run": number_of("run", "bad")}
    answer = asked.post("/review.json", told).json()
    assert answer["review"]["claims"]
    assert "lr" in answer["markup"]


def test_a_text_is_reviewed_and_stays_text(folder: Path, serving: Serving) -> None:
    attack = "Set `lr` to 0.01 <script>alert(1)</script> <img src=x onerror=alert(1)>"
    answer = serving().post("/review.json", {"text": attack}).json()
    assert "<script" not in answer["markup"]
    assert "<img" not in answer["markup"]


@pytest.mark.parametrize("told", [{}, {"text": "  "}, {"run": "x", "text": "lr: 1"}, {"document": 3}])
def test_nothing_to_review_is_said(told: dict[str, object], folder: Path, serving: Serving) -> None:
    answer = serving().post("/review.json", told)
    assert answer.status_code == 404
    assert answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'"x"', b"{", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes, folder: Path, serving: Serving) -> None:
    asked = serving()
    own = {"origin": "http://127.0.0.1", "x-stethoscope": asked.dashboard.keys.csrf}
    answer = asked.client.post(
        "/review.json", content=body, headers={**own, "content-type": "application/json"}
    )
    assert answer.status_code == 409
    assert answer.json()["error"] == "What was sent is no JSON object."
