"""`stethoscope clinic`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stethoscope.cli import stethoscope
from stethoscope.clinic import needs
from stethoscope.errors import StethoscopeError


def typed(*words: str) -> str:
    result = CliRunner().invoke(stethoscope, ["clinic", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_list_names_every_case_and_says_which_are_well() -> None:
    text = " ".join(typed("list").split())
    for name in ("nano-sr", "diffusion-prior", "protein-sedd", "deblur-fft", "high-loss-scale"):
        assert name in text
    assert "(nothing is wrong)" in text


def test_a_case_is_shown_with_its_cures_and_what_was_advised() -> None:
    text = typed("show", "nano-sr")
    assert "What cures it" in text
    assert "- similarity-as-loss: " in text
    assert "(write-up 000.9, 000.14, 001.9, 001.10)" in text


def test_a_change_that_does_not_exist_is_refused() -> None:
    with pytest.raises(StethoscopeError, match="has no change nonsense"):
        typed("trial", "nano-sr", "--only", "nonsense")


def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    with pytest.raises(StethoscopeError, match=r"needs torch, .*pip install 'stethoscope\[clinic\]'"):
        typed("run", "nano-sr")


def test_a_trial_of_a_case_is_kept_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    words = ("trial", "protein-sedd", "--size", "ci", "--seeds", "1", "--only", "dead-setting", "--into")
    typed(*words, str(tmp_path), "--minutes", "0.001")
    assert not json.loads((tmp_path / "trial.json").read_text(encoding="utf-8"))["complete"]
