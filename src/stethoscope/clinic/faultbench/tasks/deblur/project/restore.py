"""Train a deblurring network: python restore.py settings.json [--seed N] [--resume latest]"""

import argparse
import copy
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from amp_cpu import fp16
from journal import opened
from net import Deblur
from objective import objective, psnr
from pictures import Draws, batch_of, load


@dataclass
class State:
    """Everything that changes while a run goes on."""

    net: torch.nn.Module
    average: torch.nn.Module | None
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    scaler: torch.amp.GradScaler
    draws: Draws
    iteration: int = 0
    best: float = 0.0


def begin(settings, seed, samples):
    """The state in front of the first iteration."""
    torch.manual_seed(seed)
    net = Deblur(**settings["net"])
    optimizer = adamw(net, settings["optimizer"])
    amp = settings["amp"]
    return State(
        net=net,
        average=copy.deepcopy(net).requires_grad_(False) if settings["train"]["average"] else None,
        optimizer=optimizer,
        schedule=torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: share(update, settings)),
        scaler=torch.amp.GradScaler(
            "cpu",
            init_scale=amp["init_scale"],
            growth_interval=amp["growth_interval"],
            enabled=amp["enabled"],
        ),
        draws=Draws(samples, seed),
    )


def adamw(net, chosen):
    """AdamW that decays matrices only."""
    matrices = [weight for weight in net.parameters() if weight.ndim == 4]
    others = [weight for weight in net.parameters() if weight.ndim != 4]
    groups = [
        {"params": matrices, "weight_decay": chosen["weight_decay"]},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=chosen["rate"], betas=tuple(chosen["betas"]), eps=chosen["eps"])


def share(update, settings):
    """The share of the learning rate that an update gets."""
    chosen, last = settings["optimizer"], settings["train"]["iterations"]
    if update < chosen["warmup"]:
        return (update + 1) / chosen["warmup"]
    passed = min(1.0, (update - chosen["warmup"]) / max(1, last - chosen["warmup"]))
    if chosen["schedule"] == "cosine":
        return 0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * passed))
    if chosen["schedule"] == "linear":
        return 1.0 - 0.98 * passed
    return 1.0 if passed < 0.6 else 0.3 if passed < 0.85 else 0.1


def strength(iteration, settings):
    """How much of the blur is left in: it grows over the first part of the run, where that is asked for."""
    ramp = settings["data"]["ramp"] * settings["train"]["iterations"]
    return 1.0 if iteration >= ramp else 0.4 + 0.6 * iteration / ramp


def advance(state, pair, settings):
    """One iteration; gives the numbers of it."""
    pieces = settings["train"]["accumulate"]
    state.net.train()
    state.optimizer.zero_grad(set_to_none=True)
    numbers = {}
    for _ in range(pieces):
        level = strength(state.iteration, settings)
        blurred, sharp = batch_of(pair, state.draws, settings["data"], level)
        with fp16(settings["amp"]["enabled"]):
            restored = state.net(blurred)
        loss, parts = objective(restored, sharp, settings["loss"])
        state.scaler.scale(loss / pieces).backward()
        for name, value in {"loss": loss, **parts}.items():
            numbers[name] = numbers.get(name, 0.0) + value.item() / pieces

    state.scaler.unscale_(state.optimizer)
    limit = settings["optimizer"]["clip"] or math.inf
    norm = torch.nn.utils.clip_grad_norm_(state.net.parameters(), limit)
    numbers |= {"lr": state.schedule.get_last_lr()[0], "grad_norm": norm.item()}
    before = state.scaler.get_scale()
    state.scaler.step(state.optimizer)
    state.scaler.update()
    numbers["loss_scale"] = state.scaler.get_scale()
    if state.scaler.get_scale() >= before:  # else the update was left out
        state.schedule.step()
        follow(state.average, state.net, settings["train"]["average"])
    state.iteration += 1
    return numbers


@torch.no_grad()
def follow(average, net, decay):
    """Move the average a little towards the network."""
    if average is None:
        return
    for mean, weight in zip(average.parameters(), net.parameters()):
        mean.mul_(decay).add_(weight, alpha=1.0 - decay)


@torch.no_grad()
def validated(net, pair, settings):
    """Loss and PSNR over all validation pictures."""
    net.eval()
    loss, ratio = 0.0, 0.0
    for blurred, sharp in zip(*(one.split(settings["validate"]["batch"]) for one in pair)):
        with fp16(settings["amp"]["enabled"]):
            restored = net(blurred)
        loss += objective(restored, sharp, settings["loss"])[0].item() * len(sharp)
        ratio += psnr(restored, sharp).sum().item()
    return {"loss": loss / len(pair[0]), "psnr": ratio / len(pair[0])}


def kept(state):
    """What a checkpoint holds."""
    return {
        "iteration": state.iteration,
        "best": state.best,
        "net": state.net.state_dict(),
        "average": state.average.state_dict() if state.average is not None else None,
        "optimizer": state.optimizer.state_dict(),
        "schedule": state.schedule.state_dict(),
        "scaler": state.scaler.state_dict(),
        "draws": state.draws.state_dict(),
        "random": torch.get_rng_state(),
    }


def resume(state, path):
    """Go on from a checkpoint."""
    found = torch.load(path)
    state.net.load_state_dict(found["net"])
    if state.average is not None:
        state.average.load_state_dict(found["average"])
    state.optimizer.load_state_dict(found["optimizer"])
    state.schedule.load_state_dict(found["schedule"])
    state.scaler.load_state_dict(found["scaler"])
    state.draws.load_state_dict(found["draws"])
    torch.set_rng_state(found["random"])
    state.iteration, state.best = found["iteration"], found["best"]


def told(window, settings):
    """The entry of some iterations: means of the losses, and the last of what the settings ask for."""
    chosen = settings["journal"]
    switches = {"lr": "rate", "grad_norm": "gradient", "loss_scale": "loss_scale", "sec_per_it": "seconds"}
    entry = {"loss": mean(one["loss"] for one in window)}
    if chosen["parts"]:
        entry |= {name: mean(one[name] for one in window) for name in ("pixel", "frequency", "structure")}
    entry |= {name: window[-1][name] for name, switch in switches.items() if chosen[switch]}
    return entry


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def run(settings, seed, checkpoint=None):
    out = Path(settings["out"])
    (out / "states").mkdir(parents=True, exist_ok=True)
    (out / "settings.json").write_text(json.dumps(settings | {"seed": seed}, indent=2))
    train, val = load("train"), load("val")
    state = begin(settings, seed, len(train[0]))
    if checkpoint:
        resume(state, sorted((out / "states").glob("*.pt"))[-1] if checkpoint == "latest" else checkpoint)
    write = opened(settings["journal"]["kind"], out, settings["train"]["iterations"])
    window = []
    while state.iteration < settings["train"]["iterations"]:
        started = time.perf_counter()
        numbers = advance(state, train, settings)
        window.append(numbers | {"sec_per_it": time.perf_counter() - started})
        if state.iteration % settings["journal"]["every"] == 0:
            write(state.iteration, "train", told(window, settings))
            window = []
        if state.iteration % settings["validate"]["every"] == 0:
            scores = validated(state.average or state.net, val, settings)
            write(state.iteration, "val", scores)
            if scores["psnr"] > state.best:
                state.best = scores["psnr"]
                torch.save(kept(state), out / "best.pt")
        if state.iteration % settings["train"]["keep_every"] == 0:
            torch.save(kept(state), out / "states" / f"iter_{state.iteration:06d}.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="?", default="settings.json")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--resume", metavar="CHECKPOINT", help="a file, or latest")
    given = parser.parse_args()
    settings = json.loads(Path(given.settings).read_text())
    run(settings, settings["seed"] if given.seed is None else given.seed, given.resume)


if __name__ == "__main__":
    main()
