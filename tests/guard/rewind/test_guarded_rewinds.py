"""Going back with a whole Guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.guard import Kind
from stethoscope.guard.session import Session
from stethoscope.read import read
from tests.guard.loops import train


def _spoiled(step: int) -> float:
    return 300.0 if 300 <= step < 306 else 1.0


def test_steps_on_their_way_when_a_run_goes_back_are_written_down_and_not_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As on a GPU, but for the copies, which are made at once.
    monkeypatch.setattr(Session, "lags", property(lambda self: True))
    run = train(
        True, "adamw foreach", steps=420, rate=_spoiled, directory=tmp_path, arguments={"rewind": True}
    )
    assert run.guard is not None
    kinds = [one.kind for one in run.guard.happenings]
    assert kinds[kinds.index(Kind.REWOUND) :] == [Kind.REWOUND]
    assert read(tmp_path).series["loss"].steps.tolist() == list(range(420))
