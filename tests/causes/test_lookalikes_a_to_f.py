"""Causes that look alike, told apart: each run shows one of them and must not be taken for the other.

Every run is a folder with a log and, where the answer lies there, settings and source.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from stethoscope.causes import Standing
from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis, diagnose

STANDS = {Standing.PROVED, Standing.SUPPORTED}
Row = dict[str, float]


def diagnosis(folder: Path, rows: Iterable[Row], **files: str) -> Diagnosis:
    """Lay a run out and diagnose it; `config` is YAML, every other name a Python file."""
    lines = (json.dumps(row) for row in rows)
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, text in files.items():
        file = "config.yaml" if name == "config" else f"{name}.py"
        (folder / file).write_text(text, encoding="utf-8")
    return diagnose(folder)


def first(found: Diagnosis) -> str:
    standing = [cause.name for cause in found.explanation.causes if cause.standing in STANDS]
    return standing[0] if standing else ""


def standing(found: Diagnosis) -> set[str]:
    return {cause.name for cause in found.explanation.causes if cause.standing in STANDS}


def named(found: Diagnosis) -> list[str]:
    """Every cause that the evidence does not contradict, the most probable first."""
    return [cause.name for cause in found.explanation.causes if cause.standing is not Standing.CONTRADICTED]


def curve(steps: int, every: int, value: Callable[[int], Row], seed: int = 0) -> list[Row]:
    """Rows with a step each, and the noise of a real log."""
    noise = random.Random(seed)
    rows = []
    for step in range(0, steps, every):
        row = {name: number * noise.uniform(0.985, 1.015) for name, number in value(step).items()}
        rows.append({"step": step, **row})
    return rows


def falling(step: int, start: float = 2.3, end: float = 0.4, over: float = 400.0) -> float:
    return end + (start - end) * math.exp(-step / over)


# --- a schedule that drifts, and one that does not


SCALED_LOOP = """
import torch
from torch import nn

model = nn.Linear(8, 1).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
scaler = torch.amp.GradScaler("cuda", init_scale=1e18)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
{moved}
"""


def _with_search(step: int) -> Row:
    """A scale that comes down from 2^60 by an octave a step to 2^31, and stays."""
    return {"loss": falling(max(step - 29, 0)), "loss_scale": 2.0 ** max(60 - step, 31)}


def _exactly(rows: list[Row]) -> list[Row]:
    return [
        {**row, "loss_scale": 2.0 ** round(math.log2(row["loss_scale"]))} if "loss_scale" in row else row
        for row in rows
    ]


def test_a_schedule_that_moves_on_skipped_steps_is_no_schedule_in_wrong_units(tmp_path: Path) -> None:
    rows = _exactly(curve(400, 1, _with_search))
    found = diagnosis(tmp_path, rows, train=SCALED_LOOP.format(moved="    scheduler.step()"))
    assert first(found) == "state-advances-on-skipped-steps"
    assert not standing(found) & {"schedule-in-wrong-units", "scheduler-order-wrong", "forward-overflow"}


def test_a_schedule_that_waits_for_the_scaler_is_well(tmp_path: Path) -> None:
    rows = _exactly(curve(400, 1, _with_search))
    moved = "    if scaler.get_scale() >= before:\n        scheduler.step()"
    found = diagnosis(tmp_path, rows, train=SCALED_LOOP.format(moved=moved))
    assert "state-advances-on-skipped-steps" not in standing(found)


# --- a loss that does not move: the clip, the rate, or dead units


FLAT_AT_CHANCE = 2.3026
PLAIN_LOOP = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for step in range(2000):
    x, y = batch()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), {clip})
    optimizer.step()
"""


def _flat(step: int) -> Row:
    return {"loss": FLAT_AT_CHANCE}


def test_a_clip_that_is_too_tight_is_not_a_low_learning_rate(tmp_path: Path) -> None:
    rows = [{**row, "grad_norm": 1.7} for row in curve(2000, 10, _flat)]
    config = "optimizer: sgd\nlr: 0.1\ngrad_clip: 1.0e-5\nmax_steps: 2000\n"
    found = diagnosis(tmp_path, rows, config=config)
    assert first(found) == "clip-too-tight"
    assert "learning-rate-too-low" not in standing(found)


def test_a_low_learning_rate_is_not_a_tight_clip(tmp_path: Path) -> None:
    rows = [{**row, "grad_norm": 0.4, "lr": 1e-9} for row in curve(2000, 10, _flat)]
    config = "optimizer: sgd\nlr: 1.0e-9\ngrad_clip: 5.0\nmax_steps: 2000\n"
    found = diagnosis(tmp_path, rows, config=config)
    assert first(found) == "learning-rate-too-low"
    assert "clip-too-tight" not in standing(found)
    assert "dead-units" not in standing(found)


NETWORK = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(32, 64), nn.Linear(64, 64), nn.Linear(64, 10)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                {start}

    def forward(self, x):
        return self.c(self.b(self.a(x).relu()).relu())
"""


def test_dead_units_are_not_a_low_learning_rate(tmp_path: Path) -> None:
    net = NETWORK.format(start="nn.init.zeros_(module.weight)")
    found = diagnosis(tmp_path, curve(2000, 10, _flat), net=net, train=PLAIN_LOOP.format(rate=0.1, clip=1.0))
    assert first(found) == "dead-units"
    assert not standing(found) & {"learning-rate-too-low", "init-too-large", "clip-too-tight"}


def test_random_weights_are_well(tmp_path: Path) -> None:
    net = NETWORK.format(start="nn.init.kaiming_normal_(module.weight)")
    rows = curve(2000, 10, lambda step: {"loss": falling(step)})
    found = diagnosis(tmp_path, rows, net=net, train=PLAIN_LOOP.format(rate=0.1, clip=1.0))
    assert found.verdict is Verdict.HEALTHY


# --- a bad start: the weights, the warm-up, or the rate


def test_weights_that_start_too_large_are_not_a_high_learning_rate(tmp_path: Path) -> None:
    net = NETWORK.format(start="nn.init.normal_(module.weight, std=3.0)")
    rows = curve(2000, 10, lambda step: {"loss": falling(step, 45.0), "train_accuracy": 0.1 + step / 3000})
    config = "num_classes: 10\nmax_steps: 2000\n"
    found = diagnosis(tmp_path, rows, config=config, net=net)
    assert first(found) == "init-too-large"
    assert not standing(found) & {"learning-rate-too-high", "warmup-too-short", "dead-units"}


def _runs_away(step: int) -> Row:
    calm = falling(step, 2.3, 1.0)
    return {"loss": calm if step < 1200 else calm * math.exp(min((step - 1200) / 60, 6.0)), "lr": 0.02}


def test_a_high_learning_rate_is_not_large_first_weights(tmp_path: Path) -> None:
    net = NETWORK.format(start="nn.init.kaiming_normal_(module.weight)")
    config = "num_classes: 10\nmax_steps: 2000\nwarmup_steps: 100\n"
    found = diagnosis(tmp_path, curve(2000, 10, _runs_away), config=config, net=net)
    assert first(found) == "learning-rate-too-high"
    assert not standing(found) & {"init-too-large", "warmup-too-short", "attention-logit-growth"}


def _leaps_at_once(step: int) -> Row:
    return {
        "loss": 2.3 if step < 20 else 8.0 * math.exp(-(step - 20) / 300) + 0.9,
        "lr": 0.004 * (1 - step / 4100),
    }


def test_a_missing_warm_up_is_not_a_high_learning_rate(tmp_path: Path) -> None:
    config = "optimizer: adam\nlr: 0.004\nwarmup_steps: 0\nmax_steps: 4000\n"
    model = "from torch import nn\n\nnet = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8), 6)\n"
    found = diagnosis(tmp_path, curve(4000, 10, _leaps_at_once), config=config, model=model)
    assert first(found) == "warmup-too-short"
    assert not standing(found) & {"learning-rate-too-high", "init-too-large"}


def test_the_same_network_with_a_warm_up_is_well(tmp_path: Path) -> None:
    config = "optimizer: adam\nlr: 0.004\nwarmup_steps: 400\nmax_steps: 4000\n"
    model = "from torch import nn\n\nnet = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8), 6)\n"
    rows = curve(4000, 10, lambda step: {"loss": falling(step), "lr": 0.004 * min((step + 1) / 400, 1.0)})
    found = diagnosis(tmp_path, rows, config=config, model=model)
    assert found.verdict is Verdict.HEALTHY


# --- a loss that runs away: attention, or the rate


ATTENTION = """
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.scale = (width // heads) ** {power}
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return ((q @ k.transpose(-2, -1)) * self.scale).softmax(-1) @ v
"""


def test_attention_that_is_scaled_up_comes_before_the_rate(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(2000, 10, _runs_away), model=ATTENTION.format(power=0.5))
    assert first(found) == "attention-logit-growth"


def test_attention_that_is_scaled_down_leaves_the_rate(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(2000, 10, _runs_away), model=ATTENTION.format(power=-0.5))
    assert first(found) == "learning-rate-too-high"
    assert "attention-logit-growth" not in standing(found)


# --- a game that is lost, and one that is not


def _lost_game(step: int) -> Row:
    lost = step > 900
    of_judge = {"l_d_real": 0.004, "l_d_fake": 0.006} if lost else {"l_d_real": 0.6, "l_d_fake": 0.6}
    return {"l_g_pix": falling(step, 0.4, 0.1), "l_g_gan": 0.05 if lost else 0.004, **of_judge}


GAN = "lr_g: {g}\nlr_d: {d}\ngan_type: vanilla\nmax_steps: 3000\n"


def test_a_discriminator_that_wins_is_not_a_high_learning_rate(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(3000, 20, _lost_game), config=GAN.format(g="1.0e-5", d="2.0e-3"))
    assert first(found) == "discriminator-wins"
    assert not standing(found) & {"learning-rate-too-high", "loss-terms-unbalanced"}


def test_an_even_game_is_well(tmp_path: Path) -> None:
    even = {"l_g_gan": 0.005, "l_d_real": 0.6, "l_d_fake": 0.6}
    rows = curve(3000, 20, lambda step: {"l_g_pix": falling(step, 0.4, 0.1), **even})
    found = diagnosis(tmp_path, rows, config=GAN.format(g="1.0e-4", d="4.0e-4"))
    assert found.verdict is Verdict.HEALTHY


# --- values that are not finite: through the clip, or from the loss


CLIPPED = "optimizer: adamw\nlr: 0.001\ngrad_clip: 1.0\nmax_steps: 2000\n"


def _breaks(norm_at: int, loss_at: int) -> list[Row]:
    rows = curve(1000, 5, lambda step: {"loss": falling(step), "grad_norm": 0.8})
    for row in rows:
        row["grad_norm"] = math.nan if row["step"] >= norm_at else row["grad_norm"]
        row["loss"] = math.nan if row["step"] >= loss_at else row["loss"]
    return rows


def test_a_gradient_that_breaks_first_went_through_the_clip(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, _breaks(600, 605), config=CLIPPED)
    assert first(found) == "nan-through-clip"


def test_a_loss_that_breaks_first_did_not(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, _breaks(600, 600), config=CLIPPED)
    assert "nan-through-clip" not in standing(found)


# --- validation that is poor: batch norm, or overfitting


BATCH_NORM = """
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.{norm}, nn.Flatten(), nn.LazyLinear(9))
"""
DENSE = """
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 1, 1))
"""


def _erratic(step: int) -> Row:
    wave = 0.35 * math.sin(step * 1.7) if step % 100 == 0 else 0.0
    row = {"loss": falling(step)}
    return {**row, "val_accuracy": 0.5 + wave} if step % 100 == 0 else row


def test_batch_norm_of_two_samples_is_not_overfitting(tmp_path: Path) -> None:
    net = BATCH_NORM.format(norm="BatchNorm2d(8)")
    found = diagnosis(tmp_path, curve(2000, 10, _erratic), config="batch_size: 2\n", net=net)
    assert first(found) == "batchnorm-tiny-batch"
    assert "overfitting" not in standing(found)


def test_group_norm_of_two_samples_is_not_at_fault(tmp_path: Path) -> None:
    net = BATCH_NORM.format(norm="GroupNorm(2, 8)")
    found = diagnosis(tmp_path, curve(2000, 10, _erratic), config="batch_size: 2\n", net=net)
    assert "batchnorm-tiny-batch" not in standing(found)


def test_a_network_that_answers_for_each_place_trains_with_one_picture(tmp_path: Path) -> None:
    rows = curve(2000, 10, lambda step: {"loss": falling(step), "val_dice": 0.9 - falling(step, 0.7, 0.05)})
    assert diagnosis(tmp_path, rows, config="batch_size: 1\n", net=DENSE).verdict is Verdict.HEALTHY


# --- a loss that rises by a curriculum


def _curriculum(step: int, forgets: bool) -> Row:
    hard = 0.2 + 0.8 * min(step / 2000, 1.0)
    learned = 0.75 - 0.5 * math.exp(-step / 700)
    lost = 0.25 * min(max(step - 900, 0) / 900, 1.0) if forgets else 0.0
    return {"loss": 0.4 + 1.6 * hard, "difficulty": hard, "val_accuracy": learned - lost}


def test_a_curriculum_that_only_raises_the_loss_is_no_cause(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(4000, 80, lambda step: _curriculum(step, forgets=False)))
    assert not standing(found) & {"curriculum-too-fast", "learning-rate-too-high", "overfitting"}


def test_a_curriculum_that_is_too_fast_is_named(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(4000, 80, lambda step: _curriculum(step, forgets=True)))
    assert "curriculum-too-fast" in named(found)
    assert "learning-rate-too-high" not in standing(found)


# --- spikes: the embedding, Adam's memory, or a batch


def _spiking(step: int, *, embedding: bool, rms: bool) -> Row:
    since = min((step - at for at in (800, 1500, 2200) if step >= at), default=10**6)
    leaps = since == 0
    row = {
        "loss": falling(step) + 2.5 * math.exp(-since / 180),
        "grad_norm/block": 0.3,
        "grad_norm/head": 0.3,
    }
    row["grad_norm/embed"] = 0.3 * (20 if leaps and embedding else 1)
    row["grad_norm/block"] *= 20 if leaps and not embedding and not rms else 1
    row["grad_norm/head"] *= 20 if leaps and not embedding and not rms else 1
    row["adam_rms"] = 4.0 if rms and since <= 10 else 1.0
    return row


def test_an_embedding_that_leaps_alone_is_named(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(3000, 10, lambda step: _spiking(step, embedding=True, rms=False)))
    assert named(found)[0] == "embedding-gradient-spikes"
    assert "stale-second-moment" not in standing(found)


def test_a_stale_second_moment_is_not_the_embedding(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(3000, 10, lambda step: _spiking(step, embedding=False, rms=True)))
    assert named(found)[0] == "stale-second-moment"
    assert "embedding-gradient-spikes" not in standing(found)


def test_a_leap_of_all_modules_is_neither(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, curve(3000, 10, lambda step: _spiking(step, embedding=False, rms=False)))
    assert not standing(found) & {"embedding-gradient-spikes", "stale-second-moment"}


# --- coarse numbers


ROPE = "import torch\n\nangles = torch.arange(4096, dtype=torch.{dtype})[:, None] * inv_freq\n"


def test_positions_counted_in_bfloat16_are_named(tmp_path: Path) -> None:
    rows = curve(2000, 10, lambda step: {"loss": falling(step)})
    found = diagnosis(tmp_path, rows, rope=ROPE.format(dtype="bfloat16"))
    assert first(found) == "bf16-too-coarse"
    assert "no-master-weights" not in standing(found)


def test_positions_counted_in_float32_are_well(tmp_path: Path) -> None:
    rows = curve(2000, 10, lambda step: {"loss": falling(step)})
    assert diagnosis(tmp_path, rows, rope=ROPE.format(dtype="float32")).verdict is Verdict.HEALTHY


# --- growth inside the network


def test_activations_that_grow_until_the_loss_runs_away_are_named(tmp_path: Path) -> None:
    rows = curve(
        2000, 10, lambda step: {**_runs_away(step), "act_maxabs/block_7": 4.0 * math.exp(step / 400)}
    )
    found = diagnosis(tmp_path, rows)
    assert "activation-growth" in standing(found)


def test_activations_that_rest_are_not_blamed(tmp_path: Path) -> None:
    rows = curve(2000, 10, lambda step: {**_runs_away(step), "act_maxabs/block_7": 4.0})
    found = diagnosis(tmp_path, rows)
    assert first(found) == "learning-rate-too-high"
    assert "activation-growth" not in standing(found)
