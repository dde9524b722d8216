"""Guard in a plain loop: invisible where all is well, exact where it is not."""

from __future__ import annotations

import itertools
import json
import logging
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from stethoscope.errors import GuardStopped
from stethoscope.guard import Guard, Kind, Policy, Severity, Threshold, session
from tests.guard.loops import OPTIMIZERS, nan_at, train


def _same(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def _kinds(guard: Guard | None) -> list[Kind]:
    assert guard is not None
    return [one.kind for one in guard.happenings]


def _warned(guard: Guard | None) -> list[Kind]:
    assert guard is not None
    return [one.kind for one in guard.happenings if one.severity is not Severity.NOTE]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    ("clip", "scaled", "accumulate"),
    [pytest.param(*case, id=str(case)) for case in itertools.product((False, True), (False, True), (1, 3))],
)
def test_a_healthy_run_is_bit_identical(optimizer: str, clip: bool, scaled: bool, accumulate: int) -> None:
    choices = {"clip": clip, "scaled": scaled, "accumulate": accumulate}
    bare = train(False, optimizer, **choices)
    for arguments in ({}, {"clip_spikes": True, "rewind": True}, {"mode": "observe"}):
        watched = train(True, optimizer, arguments=arguments, **choices)
        assert watched.losses == bare.losses
        assert _same(watched.weights, bare.weights)
        assert watched.guard is not None
        assert watched.guard.failure is None
        assert watched.guard.step == 24
        assert _warned(watched.guard) == []


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("scaled", [False, True])
def test_a_step_with_a_bad_batch_leaves_weights_and_moments_as_they_were(
    optimizer: str, scaled: bool
) -> None:
    watched = train(True, optimizer, scaled=scaled, spoil=nan_at(10), keep=frozenset({10, 11}))
    assert _same(watched.before[10], watched.before[11])
    assert all(bool(torch.isfinite(weight).all()) for weight in watched.weights)
    assert Kind.NON_FINITE_INPUT in _kinds(watched.guard)


def test_observing_tells_and_does_not_act() -> None:
    watched = train(True, "adamw foreach", spoil=nan_at(10), arguments={"mode": "observe"})
    assert not all(bool(torch.isfinite(weight).all()) for weight in watched.weights)
    assert Kind.NON_FINITE_INPUT in _kinds(watched.guard)
    bare = train(False, "adamw foreach", spoil=nan_at(10))
    assert all(a == b or (a != a and b != b) for a, b in zip(watched.losses, bare.losses, strict=True))


def test_an_infinite_gradient_is_kept_from_the_weights() -> None:
    def spoil(step: int, model: nn.Module) -> None:
        if step == 9:
            next(model.parameters()).grad.view(-1)[0] = torch.inf

    watched = train(True, "sgd", spoil_gradients=spoil, keep=frozenset({9, 10}))
    assert _same(watched.before[9], watched.before[10])
    assert Kind.NON_FINITE_GRADIENT in _kinds(watched.guard)


def test_a_run_that_only_skips_is_stopped_with_a_report() -> None:
    with pytest.raises(GuardStopped, match="skipped"):
        train(True, spoil=lambda step, x: x * math.nan if step >= 20 else x, steps=60)


def test_a_stop_can_be_handed_to_the_loop_instead() -> None:
    told: list[GuardStopped] = []
    train(
        True,
        steps=40,
        spoil=lambda step, x: x * math.nan if step >= 20 else x,
        arguments={"on_stop": told.append},
    )
    assert len(told) == 1


def test_batch_norms_forget_a_bad_batch() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    watched = train(True, model=net, spoil=nan_at(30), steps=60)
    assert all(bool(torch.isfinite(buffer).all()) for buffer in watched.model.buffers())
    assert watched.guard is not None
    assert watched.guard.failure is None


def test_an_evaluation_right_behind_a_bad_batch_is_finite() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    with Guard(net, optimizer) as guard:
        for step in range(40):
            x = torch.randn(16, 8) * (math.nan if step == 39 else 1.0)
            loss = guard.loss((net(x) ** 2).mean())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        assert bool(torch.isfinite(net(torch.randn(4, 8))).all())


def test_a_spike_is_cut_to_the_usual_level() -> None:
    def spoil(step: int, x: Tensor) -> Tensor:
        return x * 1000.0 if step == 150 else x

    choices = {"spoil": spoil, "steps": 200, "optimizer": "sgd"}
    cut = train(True, arguments={"clip_spikes": True}, **choices)
    bare = train(False, **choices)
    healthy = train(False, optimizer="sgd", steps=200)
    assert cut.losses[:150] == bare.losses[:150]
    assert not cut.losses[-1] > 4.0 * max(healthy.losses[-20:])
    assert not bare.losses[-1] < 10.0 * max(healthy.losses[-20:])
    assert Kind.GRADIENT_SPIKE in _kinds(cut.guard)


def test_a_run_that_blew_up_goes_back_and_is_saved() -> None:
    def rate(step: int) -> float:
        return 300.0 if 300 <= step < 306 else 1.0

    choices = {"steps": 700, "rate": rate, "optimizer": "adamw foreach"}
    saved = train(True, arguments={"rewind": True}, **choices)
    sick = train(False, **choices)
    healthy = train(False, steps=700, optimizer="adamw foreach")
    assert Kind.REWOUND in _kinds(saved.guard)
    end = [sum(one.losses[-20:]) / 20 for one in (healthy, saved, sick)]
    assert end[1] < 3.0 * end[0]
    assert end[1] < end[2]


def test_what_was_learned_survives_a_reload() -> None:
    first = train(True, steps=100)
    assert first.guard is not None
    state = json.loads(json.dumps(first.guard.state_dict()))
    net = nn.Linear(8, 1)
    again = Guard(net, torch.optim.SGD(net.parameters(), 0.1))
    again.load_state_dict(state)
    assert again.step == 100
    assert again.state_dict() == first.guard.state_dict()
    with pytest.raises(ValueError, match="version"):
        again.load_state_dict({"version": 99})


def test_a_fixed_threshold_warns_and_stops() -> None:
    asked = {"loss/mse": Threshold(warn_below=0.5)}
    assert Kind.THRESHOLD in _kinds(train(True, steps=120, arguments={"thresholds": asked}).guard)
    with pytest.raises(GuardStopped):
        train(True, steps=120, arguments={"thresholds": {"loss/mse": Threshold(stop_below=0.5)}})


def test_a_checkpoint_that_is_not_finite_replaces_nothing(tmp_path: Path) -> None:
    net = nn.Linear(2, 2)
    path = tmp_path / "last.pt"
    with Guard(net, torch.optim.SGD(net.parameters(), 0.1)) as guard:
        assert guard.save(net.state_dict(), path)
        good = path.read_bytes()
        with torch.no_grad():
            net.weight[0, 0] = torch.nan
        assert not guard.save(net.state_dict(), path)
        assert path.read_bytes() == good
        assert Kind.BAD_CHECKPOINT in _kinds(guard)


def test_an_optimizer_without_the_models_parameters_is_named() -> None:
    net, other = nn.Linear(2, 2), nn.Linear(2, 2)
    guard = Guard(net, torch.optim.SGD(other.parameters(), 0.1))
    assert Kind.PARAMETERS_LEFT_OUT in _kinds(guard)


def test_gradients_that_nobody_clears_are_named() -> None:
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)
    with Guard(net, optimizer) as guard:
        for _ in range(20):
            guard.loss(net(torch.randn(4, 2)).square().mean()).backward()
            optimizer.step()
    assert Kind.GRADIENTS_NOT_CLEARED in _kinds(guard)


def test_two_optimizers_make_one_row_together() -> None:
    a, b = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizers = [torch.optim.Adam(a.parameters()), torch.optim.Adam(b.parameters())]
    with Guard(nn.Sequential(a, b), optimizers) as guard:
        for _ in range(5):
            loss = guard.loss(b(a(torch.randn(3, 4))).square().mean())
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        assert guard.step == 5
    assert guard.failure is None


def test_an_optimizer_that_calls_a_closure_is_looked_at_behind_it() -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    kept = net.weight.detach().clone()
    with Guard(net, optimizer) as guard:

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = guard.loss(net(torch.full((2, 4), torch.nan)).square().mean())
            loss.backward()
            return loss

        optimizer.step(closure)
    assert torch.equal(net.weight, kept)
    assert Kind.NON_FINITE_INPUT in _kinds(guard)


def test_lbfgs_runs_as_without() -> None:
    def run(guarded: bool) -> Tensor:
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=5)
        guard = Guard(net, optimizer) if guarded else None

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)
        assert guard is None or guard.failure is None
        return net.weight.detach().clone()

    assert torch.equal(run(True), run(False))


def test_whatever_fails_inside_guard_training_goes_on_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from stethoscope.guard import judging

    def broken(*args: object) -> None:
        raise RuntimeError("a fault of Guard's own")

    monkeypatch.setattr(judging, "update", broken)
    with caplog.at_level(logging.WARNING):
        watched = train(True, spoil=nan_at(12))
    assert watched.guard is not None
    assert "a fault of Guard's own" in str(watched.guard.failure)
    assert sum("Guard itself failed" in record.message for record in caplog.records) == 1
    # What stands between gradients and weights needs no judge.
    assert all(bool(torch.isfinite(weight).all()) for weight in watched.weights)


def test_an_unwritable_folder_costs_the_record_and_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    watched = train(True, directory=blocked / "run", spoil=nan_at(5))
    assert watched.guard is not None
    assert watched.guard.failure is None
    assert all(bool(torch.isfinite(weight).all()) for weight in watched.weights)


def test_sparse_gradients_are_guarded() -> None:
    net = nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    kept = net.weight.detach().clone()
    with Guard(None, optimizer) as guard:
        (net(torch.tensor([1, 2])).sum() * math.nan).backward()
        optimizer.step()
    assert torch.equal(net.weight, kept)
    assert guard.failure is None


def test_parameters_added_later_are_guarded() -> None:
    net = nn.ModuleList([nn.Linear(2, 2)])
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with Guard(net, optimizer) as guard:
        for step in range(6):
            if step == 3:
                net.append(nn.Linear(2, 2))
                optimizer.add_param_group({"params": net[1].parameters()})
            x = torch.randn(3, 2) * (math.nan if step == 5 else 1.0)
            for layer in net:
                x = layer(x)
            optimizer.zero_grad()
            guard.loss(x.square().mean()).backward()
            optimizer.step()
    assert guard.failure is None
    assert all(bool(torch.isfinite(p).all()) for p in net.parameters())


def test_the_scale_has_a_floor() -> None:
    def overflow(step: int, model: nn.Module) -> None:
        if step >= 5:
            next(model.parameters()).grad.fill_(torch.inf)

    told: list[GuardStopped] = []
    policy = Policy(scale_floor=64.0)
    watched = train(
        True, scaled=True, steps=20, spoil_gradients=overflow,
        arguments={"policy": policy, "on_stop": told.append},
    )  # fmt: skip
    assert watched.scale == 64.0
    unguarded = train(False, scaled=True, steps=20, spoil_gradients=overflow)
    assert unguarded.scale is not None
    assert unguarded.scale < 1.0


def test_the_record_is_read_like_any_log(tmp_path: Path) -> None:
    from stethoscope.read import read

    train(True, directory=tmp_path, steps=80, spoil=nan_at(40))
    series = read(tmp_path).series
    assert {"loss", "loss/mse", "grad_norm", "skipped", "lr", "step_time"} <= set(series)
    assert len(series["loss"]) == 80
    assert math.isnan(series["loss"].values[40])
    assert series["skipped"].values.sum() == 1.0


def test_steps_that_cannot_be_seen_are_told_once() -> None:
    net = nn.Linear(2, 1)
    with Guard(net, torch.optim.SGD(net.parameters(), 0.1)) as guard:
        for _ in range(1100):
            guard.loss(torch.zeros(()))
    assert _kinds(guard).count(Kind.OBSERVES_ONLY) == 1


@pytest.mark.parametrize("optimizer", ["adamw fused", "adamw foreach"])
def test_a_device_that_is_not_waited_for_is_judged_a_window_later(
    monkeypatch: pytest.MonkeyPatch, optimizer: str
) -> None:
    # As on a GPU, but for the copies, which are made at once.
    monkeypatch.setattr(session, "is_not_waited_for", lambda device: True)
    bare = train(False, optimizer, steps=80)
    assert train(True, optimizer, steps=80).losses == bare.losses
    watched = train(True, optimizer, steps=80, spoil=nan_at(30), keep=frozenset({30, 31}))
    assert _same(watched.before[30], watched.before[31])
    assert Kind.NON_FINITE_INPUT in _kinds(watched.guard)
    assert watched.guard is not None
    assert watched.guard.failure is None


@pytest.mark.parametrize("optimizer", ["adamw fused", "adamw foreach"])
def test_a_loss_that_is_not_finite_does_not_lower_the_scale(optimizer: str) -> None:
    def spoil(step: int, x: Tensor) -> Tensor:
        return x * 1e30 if step >= 8 and step % 2 else x  # finite, but its square is not

    watched = train(True, optimizer, scaled=True, steps=40, spoil=spoil)
    assert watched.scale == 2048.0  # one growth before, as the healthy steps never fill an interval again
    alone = train(False, optimizer, scaled=True, steps=40, spoil=spoil)
    assert alone.scale is not None
    assert alone.scale < 1.0
