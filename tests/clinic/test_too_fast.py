"""A transformer without norms whose learning rate is more than it bears."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope import diagnose  # noqa: E402
from stethoscope.clinic.cases.too_fast.case import CASE  # noqa: E402
from stethoscope.clinic.cases.too_fast.ringing import NOISE, ring  # noqa: E402
from stethoscope.clinic.cases.too_fast.transformer import Attention, BellReader  # noqa: E402
from tests.clinic.case_runs import copy_case, cure_of, evaluate, judge, train  # noqa: E402

# The data and the network


def test_a_bell_rings_with_the_frequency_and_damping_that_are_asked_for() -> None:
    samples, truth = ring(300, torch.Generator().manual_seed(1))
    assert truth.std(0, correction=0).numpy() == pytest.approx(1, abs=0.1)
    left = []
    for (time, value), (frequency, damping) in zip(
        samples.double().transpose(1, 2).numpy(), truth.double().numpy() / 12**0.5 + 0.5, strict=True
    ):
        # With frequency and damping known, only the phase is free: two columns span all of them.
        angle = 2 * np.pi * (1 + 3 * frequency) * time
        columns = np.exp(-4 * damping * time)[:, None] * np.stack((np.sin(angle), np.cos(angle)), 1)
        weights, *_ = np.linalg.lstsq(columns, value, rcond=None)
        assert np.hypot(*weights) == pytest.approx(1, abs=0.4)
        left.append(value - columns @ weights)
    assert np.std(left) == pytest.approx(NOISE * math.sqrt(14 / 16), rel=0.05)


def test_attention_is_the_weighted_mean_of_values() -> None:
    torch.manual_seed(0)
    layer = Attention(8, 2)
    x = torch.randn(3, 5, 8)
    projected = (x @ layer.qkv.weight.T + layer.qkv.bias).detach().numpy().reshape(3, 5, 3, 2, 4)
    mixed = np.empty((3, 5, 2, 4))
    for bell in range(3):
        for head in range(2):
            query, key, value = projected[bell, :, :, head].transpose(1, 0, 2)
            scores = np.exp(query @ key.T / 2)
            mixed[bell, :, head] = scores / scores.sum(1, keepdims=True) @ value
    expected = torch.from_numpy(mixed.reshape(3, 5, 8)).float() @ layer.out.weight.T + layer.out.bias
    torch.testing.assert_close(layer(x), expected)


# The case


def test_every_change_fits_alone(tmp_path: Path) -> None:
    for size in ("ci", "small"):
        for change in CASE.changes:
            copy_case(CASE, size, change.edits, tmp_path / size / change.name)
        copy_case(CASE, size, cure_of(CASE), tmp_path / size / "cured")
    for file in tmp_path.rglob("*.py"):
        compile(file.read_text(), str(file), "exec")


def test_sick_and_cured_are_trained_and_judged(tmp_path: Path) -> None:
    finished = train(CASE, (), 3, tmp_path / "sick")
    sick = evaluate(CASE, finished, tmp_path / "judge")
    losses, rates = logged(finished, "loss"), logged(finished, "lr")
    assert min(losses[: len(losses) // 3]) < 0.7 < 100 < np.nan_to_num(losses[-1], nan=np.inf)
    assert max(rates) == pytest.approx(0.03)
    assert sick["error"] == 1.0
    explained = [ranked.name for ranked in diagnose(finished, code=tmp_path / "sick").explanation.causes]
    assert explained[0] == "learning-rate-too-high"

    finished = train(CASE, cure_of(CASE), 3, tmp_path / "cured")
    cured = judge(CASE, finished, tmp_path / "judge")
    assert logged(finished, "lr") == pytest.approx([rate / 3 for rate in rates], rel=0.01)
    assert cured["error"] < 0.6
    assert cured["reached"] == sick["reached"]


@pytest.mark.parametrize("bias", [0.0, 1e6, math.nan])
def test_a_reader_that_says_the_mean_or_worse_is_worth_nothing(bias: float, tmp_path: Path) -> None:
    copy_case(CASE, "small", (), tmp_path)
    reader = BellReader(24, 2, 3)
    torch.nn.init.zeros_(reader.leave.weight)
    torch.nn.init.constant_(reader.leave.bias, bias)
    torch.save(reader.state_dict(), tmp_path / "step_00040.pt")
    scores = judge(CASE, tmp_path, tmp_path / "judge")
    assert scores["error"] == pytest.approx(1.0, abs=1e-3) == CASE.metric.bar
    assert scores["reached"] == 40


def logged(run: Path, name: str) -> list[float]:
    """The values of one name in a run's log."""
    found = re.findall(rf" {name} (\S+)", (run / "fit.log").read_text())
    return [float(value) for value in found]
