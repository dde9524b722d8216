"""Which of two causes that look alike a run has: data, noise, averages, evaluation, resumes, ranks, code."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from stethoscope.causes import Standing
from stethoscope.diagnose import Diagnosis, diagnose

STEPS = 60


def ran(folder: Path, **files: str) -> Diagnosis:
    """Diagnose a run directory of these files; "__" in a name stands for its dot."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return diagnose(folder)


def roots(found: Diagnosis) -> list[str]:
    """The causes that stand and come of no other, most probable first."""
    causes = found.explanation.causes
    stands = {Standing.PROVED, Standing.SUPPORTED}
    return [one.name for one in causes if one.standing in stands and one.consequence_of is None]


def table(**columns: Iterable[float | None]) -> str:
    """A log with one row for every ten steps; None leaves a cell empty."""
    rows = zip(*columns.values(), strict=True)
    cells = [",".join("" if cell is None else f"{cell:.5g}" for cell in row) for row in rows]
    header = ",".join(("step", *(name.replace("__", "/") for name in columns)))
    return "\n".join((header, *(f"{place * 10},{row}" for place, row in enumerate(cells))))


def falling(seed: int = 0, to: float = 0.2) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0.0, 0.01, STEPS)
    return to + 2.0 / (1.0 + np.arange(STEPS) / 4.0) + noise


def now_and_then(values: np.ndarray, every: int = 5) -> list[float | None]:
    return [float(one) if place % every == every - 1 else None for place, one in enumerate(values)]


# --- several processes

RANKS = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
world = dist.get_world_size()
data = TensorDataset(torch.randn(512, 4), torch.randn(512, 1))
sampler = DistributedSampler(data{sampler})
loader = DataLoader(data, batch_size={batch}, sampler=sampler)
model = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for epoch in range(10):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss({network}(x), y).backward()
        optimizer.step()
"""


def of_ranks(
    sampler: str = "", batch: str = "32", rate: str = "0.1 * world / 8", network: str = "model"
) -> str:
    return RANKS.format(sampler=sampler, batch=batch, rate=rate, network=network)


def test_ranks_as_they_should_be_are_healthy(tmp_path: Path) -> None:
    found = ran(tmp_path, train__py=of_ranks(), train__csv=table(loss=falling()))
    assert roots(found) == []
    assert found.verdict == "healthy"


def test_gradients_that_stay_on_their_rank_are_not_shards_that_are_alike(tmp_path: Path) -> None:
    found = ran(tmp_path, train__py=of_ranks(network="model.module"), train__csv=table(loss=falling()))
    assert roots(found) == ["gradients-not-synchronised"]


def test_shards_that_are_alike_are_not_gradients_that_stay(tmp_path: Path) -> None:
    sampler = ", num_replicas=world, rank=0"
    found = ran(tmp_path, train__py=of_ranks(sampler=sampler), train__csv=table(loss=falling()))
    assert roots(found) == ["uneven-shards"]


def test_a_rate_that_outgrows_its_batch_is_the_root_of_a_rate_too_high(tmp_path: Path) -> None:
    source = of_ranks(batch="256 // world", rate="0.1 * world")
    runs_away = np.concatenate([falling()[:30], 0.5 * 1.35 ** np.arange(30)])
    found = ran(tmp_path, train__py=source, train__csv=table(loss=runs_away))
    assert roots(found)[0] == "world-size-scaling-wrong"
    assert "learning-rate-too-high" not in roots(found)


# --- logs that lie

EPOCHS = """
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for epoch in range(60):
    {begun}
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    log({{"step": epoch, "loss": total / len(loader)}})
"""


def test_a_sum_that_is_never_set_back_is_no_divergence(tmp_path: Path) -> None:
    sums = np.cumsum(falling())
    found = ran(tmp_path, train__py=EPOCHS.format(begun="model.train()"), train__csv=table(loss=sums))
    assert roots(found)[:1] == ["metric-aggregation-wrong"]
    assert "learning-rate-too-high" not in roots(found)


def test_a_sum_that_every_epoch_begins_is_healthy(tmp_path: Path) -> None:
    found = ran(tmp_path, train__py=EPOCHS.format(begun="total = 0.0"), train__csv=table(loss=falling()))
    assert roots(found) == []


EVALUATED = """
import torch
from torch import nn


@torch.no_grad()
def validate(model, inputs, targets):
    chosen = {chosen}
    return nn.functional.mse_loss(model(inputs[chosen]), targets[chosen]).item()


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if step % 50 == 49:
        log({{"val/loss": validate(model, val_inputs, val_targets)}})
"""


def test_a_validation_that_is_drawn_anew_is_no_overfitting(tmp_path: Path) -> None:
    jumping = 1.0 + 0.5 * np.random.default_rng(1).random(STEPS)
    log = table(loss=falling(), val__loss=now_and_then(jumping))
    found = ran(
        tmp_path, train__py=EVALUATED.format(chosen="torch.randperm(len(inputs))[:4]"), train__csv=log
    )
    assert roots(found)[:1] == ["validation-set-unstable"]
    assert "overfitting" not in roots(found)


def test_overfitting_on_fixed_samples_is_no_draw(tmp_path: Path) -> None:
    turned = 1.2 / (1.0 + np.arange(STEPS) / 3.0) + 0.015 * np.arange(STEPS)
    log = table(loss=falling(to=0.01), val__loss=now_and_then(turned, 3))
    found = ran(tmp_path, train__py=EVALUATED.format(chosen="slice(0, 256)"), train__csv=log)
    assert "validation-set-unstable" not in roots(found)
    assert roots(found) == ["overfitting"]


def test_validation_data_from_elsewhere_are_told_from_overfitting(tmp_path: Path) -> None:
    far = 6.0 + 0.2 * np.random.default_rng(2).random(STEPS)
    found = ran(tmp_path, train__csv=table(loss=falling(), val__loss=now_and_then(far)))
    assert found.explanation.causes[0].name == "data-shift"
    assert "overfitting" not in roots(found)


# --- chance, and the order of data

ORDERED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.load("x.pt"), torch.load("y.pt"))
loader = DataLoader(data, batch_size=8, shuffle={shuffle})
for epoch in range(10):
    {first}
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("shuffle", "first", "right"),
    [
        ("True", "torch.manual_seed(0)", ["data-repeats"]),
        ("True", "torch.manual_seed(epoch)", []),
    ],
)
def test_a_seed_in_every_epoch_repeats_its_order(
    tmp_path: Path, shuffle: str, first: str, right: list[str]
) -> None:
    source = ORDERED.format(shuffle=shuffle, first=first)
    assert roots(ran(tmp_path, train__py=source, train__csv=table(loss=falling()))) == right


def test_a_loader_in_order_does_not_repeat_its_chance(tmp_path: Path) -> None:
    source = ORDERED.format(shuffle="False", first="model.train()")
    assert "data-repeats" not in roots(ran(tmp_path, train__py=source, train__csv=table(loss=falling())))


RESUMED = """
import torch
from torch import nn

from stream import Stream

model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
stream = Stream("tokens.bin")
state = torch.load("last.pt")
model.load_state_dict(state["model"])
{restored}
for step in range(state["step"], 10_000):
    x, y = stream.next_batch()
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if step % 500 == 0:
        kept = {{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}}
        kept["stream"] = stream.state_dict()
        torch.save(kept, "last.pt")
"""
OPTIMIZER, STREAM = 'optimizer.load_state_dict(state["optimizer"])', 'stream.load_state_dict(state["stream"])'


def test_a_resume_that_forgets_its_place_has_not_lost_its_optimizer(tmp_path: Path) -> None:
    found = ran(tmp_path, train__py=RESUMED.format(restored=OPTIMIZER), train__csv=table(loss=falling()))
    assert roots(found) == ["data-replayed-after-resume"]


def test_a_resume_that_knows_its_place_replays_nothing(tmp_path: Path) -> None:
    restored = f"{OPTIMIZER}\n{STREAM}"
    found = ran(tmp_path, train__py=RESUMED.format(restored=restored), train__csv=table(loss=falling()))
    assert roots(found) == []


# --- noise

DIFFUSION = """
import torch
import yaml
from torch import nn

config = yaml.safe_load(open("config.yaml"))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 4)
        self.body = nn.Linear(4, 4)

    def forward(self, x, t):
        return self.body(x + self.embed({cast}))


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])


def draw(count):
    t = {drawn}
    return t


for x in loader:
    t = draw(len(x))
    sigma = {sigma}
    noise = torch.randn_like(x)
    loss = (model(x + sigma * noise, t) - noise).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STEPPED, FRACTION = "torch.randint(0, 1000, (count,))", "torch.rand(count)"
USED = '(t[:, None] / 1000) * config["sigma_max"]'


def of_noise(cast: str = "t", drawn: str = STEPPED, sigma: str = USED) -> str:
    return DIFFUSION.format(cast=cast, drawn=drawn, sigma=sigma)


@pytest.mark.parametrize(
    ("source", "right"),
    [
        (of_noise(), []),
        (of_noise(sigma="t[:, None] / 1000"), ["noise-schedule-ignored"]),
        (of_noise("t.long()", FRACTION, 't[:, None] * config["sigma_max"]'), ["timestep-bug"]),
    ],
)
def test_faults_of_the_noise_are_told_apart(tmp_path: Path, source: str, right: list[str]) -> None:
    settings = "lr: 0.001\nsigma_max: 0.8\n"
    found = ran(tmp_path, train__py=source, config__yaml=settings, train__csv=table(loss=falling()))
    assert roots(found) == right


# --- averages and guards


def test_an_average_that_is_nan_is_no_training_that_is_nan(tmp_path: Path) -> None:
    scores = now_and_then(falling(3))
    poisoned = [None if one is None else (np.nan if place > 25 else one) for place, one in enumerate(scores)]
    found = ran(tmp_path, train__csv=table(loss=falling(), val__loss=scores, val__ema_loss=poisoned))
    assert roots(found)[:1] == ["ema-poisoned"]
    assert "forward-overflow" not in roots(found)


def test_a_guard_that_skips_every_step_is_no_rate_too_low(tmp_path: Path) -> None:
    flat = np.concatenate([falling()[:12], np.full(STEPS - 12, 0.7)])
    flat = flat + np.random.default_rng(4).normal(0.0, 0.005, STEPS)
    skipped = (np.arange(STEPS) >= 12).astype(float)
    found = ran(tmp_path, train__csv=table(loss=flat, skipped=skipped))
    assert roots(found)[:1] == ["guard-stops-learning"]
    assert "learning-rate-too-low" not in roots(found)


# --- what is kept

KEPT = """
import copy

import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best = float("inf")
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    score = evaluate(model, val_loader)
    if score < best:
        best = score
        kept = {kept}
model.load_state_dict(kept)
"""


@pytest.mark.parametrize(
    ("kept", "right"),
    [("model.state_dict()", ["tensor-aliasing"]), ("copy.deepcopy(model.state_dict())", [])],
)
def test_the_best_weights_are_copies_or_the_last_ones(tmp_path: Path, kept: str, right: list[str]) -> None:
    found = ran(tmp_path, train__py=KEPT.format(kept=kept), train__csv=table(loss=falling()))
    assert roots(found) == right
