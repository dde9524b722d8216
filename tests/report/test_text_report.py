"""The terminal report says the same as the JSON, in an order and a shape a person can read."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from stethoscope import Diagnosis
from stethoscope.report import json_report, text_report
from stethoscope.report.terminal import plain_console
from tests.report import patients

MADE = {
    "healthy": patients.healthy,
    "sick": patients.sick,
    "unknown": patients.unknown,
    "hostile": patients.hostile,
}


def text(diagnosis: Diagnosis, width: int = 80, *, verbose: bool = False) -> str:
    return text_report.render(diagnosis, plain_console(width), verbose=verbose)


def unwrapped(told: str) -> str:
    return " ".join(told.split())


def test_a_healthy_run_is_told_in_about_a_dozen_lines() -> None:
    lines = text(patients.healthy(), 90).splitlines()
    assert lines[0] == "nano is healthy (very likely, 88%). 2 rules looked; nothing found needs a remedy."
    assert len(lines) <= 17


def test_a_sick_run_leads_with_its_cause_and_how_sure_that_is() -> None:
    told = unwrapped(text(patients.sick()))
    assert told.startswith("nano is sick. A loss term has the wrong sign (proved). Steps 0 to 600.")
    in_order = (
        "What is wrong",
        "+ the source minimises a similarity",
        "SSIMLoss returns the similarity [losses.py:41]",
        "- the loss falls smoothly",
        "What to change",
        "- return score",
        "What to do",
        "Where to go back to",
        "models/net_g_200.pth (step 200): the last one before the fall",
        "Resuming from it loses: the optimiser",
        "Looks alarming, is not",
        "Considered, not recommended",
        "switch to bf16: nothing overflows [nano.yml:3]",
        "The learning rate is too high (contradicted, 2%); against it: the loss never spikes",
        "1 rule could not look: NUM101.",
        "settings nano.yml (in the run, changed after the run began)",
    )
    positions = [told.find(words) for words in in_order]
    assert -1 not in positions, in_order[positions.index(-1)]
    assert positions == sorted(positions)
    assert "To confirm: confirm loss-sign-inverted" not in told, "what is proved needs no confirmation"


def test_the_curve_marks_the_best_value_and_the_onset() -> None:
    told = text(patients.sick())
    assert "val/psnr, higher is better" in told
    assert "o best 24.5 at step 100" in told
    assert "^ trouble begins at step 100" in told


def test_values_that_are_not_finite_are_marked() -> None:
    assert "x 3 values not finite, the first at step 100" in text(patients.hostile())


def test_what_nothing_explains_is_shown_with_its_address() -> None:
    told = unwrapped(text(patients.unknown()))
    assert told.startswith("nano: no verdict. Something is wrong; no cause known here accounts for it. Steps")
    assert "LOS101 loss-spike, warning: the loss jumps to 9" in told
    assert "No checkpoint was saved before step 200." in told


def test_verbose_shows_weights_measurements_and_why_rules_could_not_look() -> None:
    told = text(patients.sick(), verbose=True)
    assert "(similarity-minimised, weight +6.0)" in told
    assert "drop 4" in told
    assert "NUM101 non-finite-values: no gradient norm. To log it: log(norm)" in told


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("name", ["healthy", "sick", "unknown"])
def test_no_line_is_wider_than_the_console(name: str, width: int) -> None:
    copied = set(patients.DIFF.splitlines())
    lines = [line for line in text(MADE[name](), width).splitlines() if line[4:] not in copied]
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", MADE)
def test_nothing_a_stranger_wrote_can_act_on_the_terminal(name: str) -> None:
    told = text(MADE[name](), verbose=True)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", told)
    assert len(told) < 200_000


def test_markup_in_a_file_is_shown_as_it_stands() -> None:
    assert "[red]bold[/red]" in text(patients.hostile())


def test_a_console_without_unicode_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, width=80, color_system=None)
    assert text_report.render(patients.sick(), console).isascii()


def test_a_diff_is_coloured_where_there_are_colours() -> None:
    console = Console(force_terminal=True, color_system="standard", width=80, markup=False)
    told = text_report.render(patients.sick(), console)
    assert "\x1b[32m+    return 1 - score" in told


def test_the_text_and_the_json_give_the_same_numbers() -> None:
    report = json_report.as_dict(patients.sick())
    told = text(patients.sick())
    assert f"({'almost certain'}, over 99%)" in told
    assert report["causes"][0]["probability"] > 0.995  # type: ignore[index]
    assert report["causes"][1]["probability"] == 0.02  # type: ignore[index]


def test_a_real_diagnosis_is_told(a_real_diagnosis: Diagnosis) -> None:
    assert "20 values not finite, the first at step 80" in text(a_real_diagnosis, 100)
