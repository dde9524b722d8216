"""Three sessions of one training, of which each begins the schedule anew."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope import diagnose  # noqa: E402
from stethoscope.clinic.case import Role  # noqa: E402
from stethoscope.clinic.cases.forgetful_resume.babble import LETTERS, encode, lexicon, speak  # noqa: E402
from stethoscope.clinic.cases.forgetful_resume.case import CASE  # noqa: E402
from stethoscope.clinic.cases.forgetful_resume.model import NextLetter, windows  # noqa: E402
from tests.clinic.case_runs import change_of, copy_case, cure_of, evaluate, judge, train  # noqa: E402

PEAK, WARM_UP, TOTAL = 0.01, 20, 600  # of the smallest size
SESSIONS = (300, 180, 120)


# The data


def test_a_text_needs_what_its_words_need() -> None:
    text, needed = speak(3000, 4)
    words, share = lexicon()
    chances = dict(zip(words, share.double().tolist(), strict=True))
    nats = -sum(math.log(chances[word]) for word in text.split())
    assert len(chances) == 200
    assert needed == pytest.approx(nats / len(text), rel=1e-9)
    assert sum(chances.values()) == pytest.approx(1)


def test_a_window_is_the_letters_before_a_letter() -> None:
    before, target = windows(encode("abc def gh"), torch.tensor([4, 9]), 3)
    assert ["".join(LETTERS[letter] for letter in row) for row in before.tolist()] == ["bc ", "f g"]
    assert [LETTERS[letter] for letter in target.tolist()] == ["d", "h"]


# The case


def test_every_change_fits_alone_and_the_cures_together(tmp_path: Path) -> None:
    for size in ("ci", "small"):
        for change in CASE.changes:
            copy_case(CASE, size, change.edits, tmp_path / size / change.name)
        copy_case(CASE, size, cure_of(CASE), tmp_path / size / "cured")
        for left_out in [change for change in CASE.changes if change.role is Role.CURE]:
            edits = tuple(edit for edit in cure_of(CASE) if edit not in left_out.edits)
            copy_case(CASE, size, edits, tmp_path / size / f"without-{left_out.name}")
    for file in tmp_path.rglob("*.py"):
        compile(file.read_text(), str(file), "exec")


def test_sick_and_cured_are_trained_and_judged(tmp_path: Path) -> None:
    finished = train(CASE, (), 3, tmp_path / "sick")
    sick = evaluate(CASE, finished, tmp_path / "judge")
    seen = rates(finished)
    assert seen == pytest.approx({step: PEAK * share(_in_session(step)) for step in seen})
    assert seen[600] > 0.8 * PEAK
    explained = {ranked.name for ranked in diagnose(finished, code=tmp_path / "sick").explanation.causes[:2]}
    assert explained == {"optimizer-state-lost", "learning-rate-jump"}

    finished = train(CASE, cure_of(CASE), 3, tmp_path / "cured")
    cured = judge(CASE, finished, tmp_path / "judge")
    seen = rates(finished)
    assert seen == pytest.approx({step: PEAK * share(step) for step in seen})
    assert sick["step"] == cured["step"] == TOTAL
    assert 0 < cured["excess"] < 0.7 * sick["excess"]

    # A run that forgets nothing is the run that was never stopped, bit by bit.
    unstopped = train(CASE, change_of(CASE, "one-session"), 3, tmp_path / "unstopped")
    assert entries(finished) == entries(unstopped)
    assert judge(CASE, unstopped, tmp_path / "judge") == cured


def test_the_schedule_alone_comes_back_without_the_optimizer(tmp_path: Path) -> None:
    finished = train(CASE, change_of(CASE, "restore-the-schedule"), 3, tmp_path)
    seen = rates(finished)
    assert seen == pytest.approx({step: PEAK * share(step) for step in seen})
    state = torch.load(finished / "last.pt", weights_only=True)
    assert set(state) == {"step", "model", "scheduler"}


def test_the_judge_knows_guessing(tmp_path: Path) -> None:
    copy_case(CASE, "ci", (), tmp_path)
    model = NextLetter(len(LETTERS), context=8, embedding=12, hidden=128)
    torch.nn.init.zeros_(model.layers[-1].weight)
    torch.nn.init.zeros_(model.layers[-1].bias)
    torch.save({"step": 0, "model": model.state_dict()}, tmp_path / "last.pt")
    scores = judge(CASE, tmp_path, tmp_path / "judge")
    assert scores["test_loss"] == pytest.approx(math.log(27), abs=1e-4)
    assert scores["excess"] == pytest.approx(CASE.metric.bar, abs=1e-3)
    # The language itself: what its words need, over the length of a word and its space.
    words, said = lexicon()
    shares = said.double().numpy()
    length = float(np.dot(shares, [len(word) + 1 for word in words]))
    entropy = -float(np.dot(shares, np.log(shares))) / length
    assert scores["test_loss"] - scores["excess"] == pytest.approx(entropy, rel=0.02)


def share(step: int) -> float:
    """The share of the peak at which the schedule stands after so many steps."""
    return (step + 1) / WARM_UP if step < WARM_UP else (TOTAL - step) / (TOTAL - WARM_UP)


def _in_session(step: int) -> int:
    """The steps since the session of a step began."""
    begun = 0
    for steps in SESSIONS:
        if step <= begun + steps:
            break
        begun += steps
    return step - begun


def entries(run: Path) -> list[dict[str, float]]:
    """The lines of a run's log that hold numbers."""
    lines = (run / "log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def rates(run: Path) -> dict[int, float]:
    """The learning rate at each step that was logged."""
    return {int(entry["step"]): entry["lr"] for entry in entries(run) if "lr" in entry}
