"""Guard inside frameworks that train with two processes: real ones, over gloo."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.guard.launching import launched

STEPS = 16

BEGINNING = r"""
import hashlib, json, logging, math, os, sys, warnings
warnings.simplefilter("ignore")
import torch
from pathlib import Path
from torch import nn
from stethoscope.guard import Policy

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
FOLDER, STEPS, BAD = Path(sys.argv[1]), int(sys.argv[2]), 7
POLICY = Policy(window=4)  # ranks share their losses every four steps
RANK = int(os.environ["RANK"])


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.Linear(16, 1))
        self.losses = []

    def forward(self, x, labels):
        loss = nn.functional.mse_loss(self.net(x), labels)
        self.losses.append(loss.item())
        return {"loss": loss}


def batch(step, is_bad):
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * RANK + step))
    labels = x.sum(1, keepdim=True)
    if is_bad and step == BAD and RANK == 1:
        x[2, 3] = math.nan
    return {"x": x, "labels": labels}


def outcome(model, guard):
    weights = torch.cat([one.detach().flatten() for one in model.parameters()])
    return {
        "losses": model.losses,
        "weights": hashlib.sha256(weights.numpy().tobytes()).hexdigest(),
        "finite": bool(weights.isfinite().all()),
        "steps": guard.step if guard else None,
        "failure": guard.failure if guard else None,
        "kinds": [one.kind for one in guard.happenings] if guard else [],
    }


def loop(prepared, backward, guarded, name, is_bad):
    # One training in a loop of its own, as Accelerate and Fabric have it.
    model = Regression()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    wrapped, optimizer = prepared(model, optimizer)
    guard = guarded(wrapped, optimizer, directory=FOLDER / name, policy=POLICY) if name != "bare" else None
    torch.manual_seed(RANK)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = wrapped(**batch(step, is_bad))["loss"]
        if guard is not None:
            guard.loss(loss)
        backward(loss)
        optimizer.step()
    if guard is not None:
        guard.close()
    return outcome(model, guard)


def say(train):
    found = {name: train(name, is_bad=name == "bad") for name in ("bare", "guarded", "bad")}
    print(json.dumps(found), flush=True)
    os._exit(0)
"""

ACCELERATE = """
from accelerate import Accelerator
from stethoscope.integrations.accelerate import guard_accelerate

one = Accelerator(cpu=True)
assert one.num_processes == 2


def guarded(model, optimizer, **options):
    return guard_accelerate(one, model, optimizer, **options)


say(lambda name, is_bad: loop(one.prepare, one.backward, guarded, name, is_bad))
"""

FABRIC = """
from lightning.fabric import Fabric
from stethoscope.integrations.fabric import guard_fabric

one = Fabric(accelerator="cpu", devices=2, strategy="ddp")
one.launch()
assert one.world_size == 2


def guarded(model, optimizer, **options):
    return guard_fabric(one, model, optimizer, **options)


say(lambda name, is_bad: loop(one.setup, one.backward, guarded, name, is_bad))
"""

TRANSFORMERS = """
from transformers import Trainer, TrainingArguments
from stethoscope.integrations.transformers import GuardCallback


class OwnBatches(Trainer):
    # Batches that the loader of each rank draws by itself.
    def get_train_dataloader(self):
        return [batch(step, self.is_bad) for step in range(STEPS)]


def train(name, is_bad):
    model, callback = Regression(), GuardCallback(policy=POLICY)
    args = TrainingArguments(
        output_dir=str(FOLDER / name), max_steps=STEPS, learning_rate=1e-2, save_strategy="steps",
        save_steps=8, report_to="none", use_cpu=True, disable_tqdm=True, seed=0,
    )
    assert args.world_size == 2
    callbacks = [] if name == "bare" else [callback]
    trainer = OwnBatches(model, args, train_dataset=[0] * 1000, callbacks=callbacks)
    trainer.is_bad = is_bad
    torch.manual_seed(RANK)
    trainer.train()
    return outcome(model, callback.guard)


say(train)
"""


@pytest.mark.parametrize(
    ("package", "script"),
    [
        pytest.param("accelerate", ACCELERATE, id="accelerate"),
        pytest.param("lightning", FABRIC, id="fabric"),
        pytest.param("transformers", TRANSFORMERS, id="transformers"),
    ],
)
def test_two_ranks_train_as_without_and_a_bad_batch_on_one_is_skipped_on_both(
    package: str, script: str, tmp_path: Path
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    first, second = launched(BEGINNING + script, tmp_path, STEPS)
    for one in (first, second):
        assert "bare" in one, one
        assert one["guarded"]["losses"] == one["bare"]["losses"]
        assert one["guarded"]["weights"] == one["bare"]["weights"]
        for name in ("guarded", "bad"):
            assert one[name]["failure"] is None
            assert one[name]["steps"] == STEPS
        assert one["bad"]["finite"]
    assert first["guarded"]["weights"] != first["bad"]["weights"] == second["bad"]["weights"]
    assert "non-finite-input" in second["bad"]["kinds"]
    assert "non-finite-loss" in first["bad"]["kinds"]
