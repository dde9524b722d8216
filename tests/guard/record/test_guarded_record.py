"""What a whole Guard says in its flight record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard import Guard, Kind, Policy, Severity
from stethoscope.guard.boxes import black_box
from stethoscope.read import read
from stethoscope.run.log import EventKind


def _stepped(guard: Guard, net: nn.Module, optimizer: torch.optim.Optimizer, x: Any) -> None:
    optimizer.zero_grad()
    guard.loss(net(x).square().mean()).backward()
    optimizer.step()


def test_the_record_says_how_long_the_run_is_to_be_and_where_it_went_on(tmp_path: Path) -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    with Guard(net, optimizer) as first:
        for _ in range(5):
            _stepped(first, net, optimizer, torch.randn(2, 4))
    with Guard(net, optimizer, directory=tmp_path, total_steps=8) as second:
        second.load_state_dict(first.state_dict())
        for _ in range(3):
            _stepped(second, net, optimizer, torch.randn(2, 4))
    run = read(tmp_path)
    assert run.series["loss"].steps.tolist() == [5, 6, 7]
    assert [event.step for event in run.events if event.kind is EventKind.RESUMED] == [5]
    assert {log.total_steps for log in run.logs} >= {8}


class Unmeasurable(Tensor):
    """A tensor that does not say how large it is."""

    @property
    def nbytes(self) -> int:
        raise RuntimeError("its size is not known")


def test_that_calls_are_not_remembered_is_noted_once_and_the_training_goes_on() -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    with Guard(net, optimizer) as guard:
        for _ in range(5):
            _stepped(guard, net, optimizer, torch.randn(2, 4).as_subclass(Unmeasurable))
    assert guard.failure is None
    assert guard.step == 5
    (noted,) = guard.happenings
    assert (noted.kind, noted.severity) == (Kind.CALLS_FORGOTTEN, Severity.NOTE)
    assert "its size is not known" in noted.seen


def test_the_last_good_checkpoint_stands_in_for_weights_that_are_too_large_for_a_box(tmp_path: Path) -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    with Guard(net, optimizer, directory=tmp_path, policy=Policy(box_bytes=10)) as guard:
        for step in range(6):
            if step == 3:
                guard.save(net.state_dict(), tmp_path / "step3.pt")
            _stepped(guard, net, optimizer, torch.full((2, 4), torch.nan if step == 4 else 1.0))
    (path,) = (one.facts["path"] for one in guard.happenings if one.kind is Kind.BLACK_BOX)
    box = black_box.read(Path(str(path)))
    assert box.checkpoint is not None
    assert box.checkpoint.path == str(tmp_path / "step3.pt")
    assert any(one.startswith("parameters:") for one in box.left_out)
