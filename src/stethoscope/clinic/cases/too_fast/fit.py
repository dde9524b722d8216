"""Fit the reader of bells: python fit.py bells.toml --seed 0"""

# mypy: disable-error-code="import-not-found, no-untyped-call"

from __future__ import annotations

import argparse
import math
import shutil
import tomllib
from pathlib import Path

import torch
from ringing import ring
from torch import Tensor, nn
from transformer import BellReader

TEST_SEED, TEST_BELLS = 12_345, 512


def main() -> None:
    """Read the settings and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    settings = tomllib.loads(args.settings.read_text(encoding="utf-8"))
    model, optim, output = settings["model"], settings["optim"], settings["output"]
    folder = Path(output["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.settings, folder / "bells.toml")

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    chance = torch.Generator().manual_seed(args.seed)
    reader = BellReader(model["width"], model["heads"], model["blocks"])
    optimizer = torch.optim.Adam(
        reader.parameters(), lr=optim["lr"], betas=(0.9, optim["beta2"]), eps=optim["eps"]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, optim["warmup"], optim["steps"])
    )
    test = ring(TEST_BELLS, torch.Generator().manual_seed(TEST_SEED))

    for step in range(1, optim["steps"] + 1):
        samples, truth = ring(optim["batch"], chance)
        loss = nn.functional.mse_loss(reader(samples), truth)
        optimizer.zero_grad()
        loss.backward()
        norm = norm_of_gradients(reader)
        if optim["clip"] > 0:
            nn.utils.clip_grad_norm_(reader.parameters(), optim["clip"])
        optimizer.step()
        if step % output["print_every"] == 0:
            rate = optimizer.param_groups[0]["lr"]
            print(
                f"step {step}/{optim['steps']} loss {loss.item():.4g} lr {rate:.3g} grad_norm {norm:.4g}",
                flush=True,
            )
        if step % output["test_every"] == 0:
            print(f"step {step}/{optim['steps']} test_loss {measured(reader, *test):.4g}", flush=True)
        if step % output["save_every"] == 0:
            torch.save(reader.state_dict(), folder / f"step_{step:05d}.pt")
        schedule.step()


def share_of_rate(step: int, warmup: int, steps: int) -> float:
    """Up in a straight line, then down along half a cosine."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def norm_of_gradients(reader: nn.Module) -> float:
    """The length of all gradients together, which are left as they are."""
    norms = [weights.grad.norm() for weights in reader.parameters() if weights.grad is not None]
    return float(torch.stack(norms).norm())


@torch.no_grad()
def measured(reader: nn.Module, samples: Tensor, truth: Tensor) -> float:
    """The mean squared error; 1 is what saying the mean costs."""
    reader.eval()
    error = nn.functional.mse_loss(reader(samples), truth).item()
    reader.train()
    return error


if __name__ == "__main__":
    main()
