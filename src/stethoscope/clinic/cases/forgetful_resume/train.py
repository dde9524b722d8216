"""Train for one session, going on from the last one: python train.py settings.yaml --steps 500"""

# mypy: disable-error-code="import-not-found, no-untyped-call"

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
import yaml
from babble import LETTERS, encode, speak
from model import NextLetter, windows
from torch import Tensor, nn

TRAIN_SEED, HELD_OUT_SEED = 1, 2
FIRST = 64  # no window begins before the text does


def main() -> None:
    """Load the settings, then train until this session's time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--steps", type=int, required=True, help="how many this session has time for")
    args = parser.parse_args()
    cfg = yaml.safe_load(args.settings.read_text(encoding="utf-8"))
    run = Path(cfg["run"])
    run.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.settings, run / "settings.yaml")
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    train(cfg, run, args.steps)


def train(cfg: dict[str, Any], run: Path, session_steps: int) -> None:
    """Train for `session_steps` steps and leave a checkpoint for the next session."""
    options = cfg["training"]
    letters = encode(speak(cfg["data"]["words"], TRAIN_SEED)[0])
    held_out = encode(speak(cfg["data"]["held_out_words"], HELD_OUT_SEED)[0])
    model = NextLetter(len(LETTERS), **cfg["model"])
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options["lr"], eps=options["eps"], weight_decay=options["weight_decay"]
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: rate(step, options["warmup_steps"], options["total_steps"])
    )

    step = 0
    if (run / "last.pt").exists():
        checkpoint = torch.load(run / "last.pt", weights_only=True)
        model.load_state_dict(checkpoint["model"])
        step = checkpoint["step"]
        print(f"resumed from {run / 'last.pt'} at step {step}", flush=True)

    until = min(step + session_steps, options["total_steps"])
    while step < until:
        before, target = windows(letters, places(cfg["seed"], step, letters, options), model.context)
        loss = nn.functional.cross_entropy(model(before), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        step += 1
        if step % options["log_every"] == 0:
            log(step=step, loss=loss.item(), lr=float(scheduler.get_last_lr()[0]))
        if step % options["validate_every"] == 0:
            log(step=step, val_loss=validate(model, held_out))
    state = {
        "step": step,
        "model": model.state_dict(),
    }
    torch.save(state, run / f"step_{step}.pt")
    shutil.copyfile(run / f"step_{step}.pt", run / "last.pt")


def rate(step: int, warmup_steps: int, total_steps: int) -> float:
    """The share of the learning rate at a step: up in a straight line, then down to nothing in another."""
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return max(0.0, (total_steps - step) / (total_steps - warmup_steps))


def places(seed: int, step: int, letters: Tensor, options: dict[str, Any]) -> Tensor:
    """Where the batch of a step is in the text: the same in whichever session the step falls."""
    chance = torch.Generator().manual_seed(1_000_000 * seed + step)
    return torch.randint(FIRST, len(letters), (options["batch_size"],), generator=chance)


@torch.no_grad()
def validate(model: NextLetter, letters: Tensor) -> float:
    """Nats per character of a text that is not learned from."""
    model.eval()
    before, target = windows(letters, torch.arange(model.context, len(letters)), model.context)
    loss = nn.functional.cross_entropy(model(before), target).item()
    model.train()
    return loss


def log(**values: float) -> None:
    """Print one line."""
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main()
