"""Going back with a whole Guard."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from stethoscope.guard import Guard, Kind, Policy, session
from stethoscope.read import read
from tests.guard.loops import train


def _spoiled(step: int) -> float:
    return 300.0 if 300 <= step < 306 else 1.0


def test_steps_on_their_way_when_a_run_goes_back_are_written_down_and_not_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As on a GPU, but for the copies, which are made at once.
    monkeypatch.setattr(session, "is_not_waited_for", lambda device: True)
    run = train(
        True, "adamw foreach", steps=420, rate=_spoiled, directory=tmp_path, arguments={"rewind": True}
    )
    assert run.guard is not None
    kinds = [one.kind for one in run.guard.happenings]
    assert kinds[kinds.index(Kind.REWOUND) :] == [Kind.REWOUND]
    assert read(tmp_path).series["loss"].steps.tolist() == list(range(420))


def test_where_snapshots_take_too_much_memory_the_last_good_checkpoint_is_named(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    guard = Guard(net, optimizer, policy=Policy(rewind=True, snapshot_bytes=64))
    for step in range(260):
        optimizer.param_groups[0]["lr"] = 30.0 if 200 <= step < 204 else 1e-2
        if step % 50 == 25 or step == 202:
            assert guard.save({"model": net.state_dict()}, tmp_path / f"step{step}.pt")
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        guard.loss((net(x) - x.sum(1, keepdim=True)).square().mean()).backward()
        optimizer.step()
    guard.close()
    before, after = (one for one in guard.happenings if one.kind is Kind.CANNOT_REWIND)
    assert "snapshot_bytes" in before.text()
    assert before.step == 0
    # The one of step 202 is finite, and was written when the run had blown up already.
    assert after.facts == {"checkpoint": str(tmp_path / "step175.pt"), "to_step": 175}
    assert "step175.pt" in after.text()
    assert guard.failure is None
