"""Fit a U-Net to tiles of stained tissue.

    python fit.py --exp exp.yaml --workdir runs/unet_tiles
    python fit.py --exp exp.yaml --workdir runs/unet_tiles --resume auto
"""

import argparse
import contextlib
import glob
import math
import os
import random
import time

import numpy as np
import torch
import yaml

from criterion import make_criterion
from meters import Averages
from rates import make_optimizer, make_scheduler
from recorders import RECORDERS
from scores import evaluate
from shadow import Shadow
from tiles import CLASSES, make_loaders
from unet import UNet


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--exp", default="exp.yaml")
    p.add_argument("--workdir", default="runs/unet_tiles")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", metavar="SNAPSHOT", help="a snapshot to go on from, or auto for the last one")
    return p.parse_args()


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def autocast_for(amp):
    if amp == "bf16":
        return lambda: torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext


def grain_at(it, exp):
    """How much grain is added at an iteration: all of it, or a part that grows."""
    ramp = exp["augment"]["grain_ramp"] * exp["train"]["max_iters"]
    return exp["augment"]["grain"] * min(1.0, it / ramp if ramp else 1.0)


def save_snapshot(path, run, net, shadow, optimizer, scheduler, order, exp):
    torch.save(
        {
            "run": run,
            "exp": exp,
            "net": net.state_dict(),
            "shadow": shadow.net.state_dict() if shadow else None,
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "order": order.get_state(),
            "rng": torch.get_rng_state(),
        },
        path,
    )


def load_snapshot(path, net, shadow, optimizer, scheduler, order):
    """Restore everything from a snapshot; gives where the run was."""
    snap = torch.load(path)
    net.load_state_dict(snap["net"])
    if shadow:
        shadow.net.load_state_dict(snap["shadow"])
    optimizer.load_state_dict(snap["optimizer"])
    scheduler.load_state_dict(snap["scheduler"])
    order.set_state(snap["order"])
    torch.set_rng_state(snap["rng"])
    return snap["run"]


def train_epoch(run, net, shadow, loader, criterion, optimizer, scheduler, exp, autocast, record):
    """Pass once over the training tiles, or until the last iteration."""
    net.train()
    cfg, log = exp["train"], exp["log"]
    averages = Averages()
    optimizer.zero_grad()
    tic = time.perf_counter()
    for i, (tile, mask) in enumerate(loader, start=1):
        with autocast():
            logits, aux_logits = net(tile)
        loss, parts = criterion(logits, aux_logits, mask)
        (loss / cfg["accumulate"]).backward()
        averages.add({"loss": loss.item(), **(parts if log["parts"] else {})}, n=len(tile))
        if i % cfg["accumulate"]:
            continue

        grad_norm = torch.nn.utils.clip_grad_norm_(net.parameters(), exp["optim"]["clip"] or math.inf)
        lr = optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if shadow:
            shadow.follow(net)

        run["iter"] += 1
        loader_tiles(loader).grain = grain_at(run["iter"], exp)
        done = run["iter"] >= cfg["max_iters"]
        last = done or i + cfg["accumulate"] > len(loader)
        if (log["every"] and run["iter"] % log["every"] == 0) or (last and not log["every"]):
            row = averages.pop()
            if log["lr"]:
                row["lr"] = lr
            if log["grad_norm"]:
                row["grad_norm"] = grad_norm.item()
            if log["seconds"]:
                row["sec"] = time.perf_counter() - tic
            record(run["epoch"], run["iter"], "train", row)
            tic = time.perf_counter()
        if done:
            break


def loader_tiles(loader):
    """The tiles behind a loader, whichever part of them it draws."""
    return getattr(loader.dataset, "dataset", loader.dataset)


def main():
    args = parse_args()
    with open(args.exp) as f:
        exp = yaml.safe_load(f)
    os.makedirs(os.path.join(args.workdir, "snapshots"), exist_ok=True)
    with open(os.path.join(args.workdir, "exp.yaml"), "w") as f:
        yaml.safe_dump({**exp, "seed": args.seed}, f, sort_keys=False)

    seed_everything(args.seed)
    train_loader, clean_loader, val_loader = make_loaders(exp, args.seed)
    order = train_loader.generator
    net = UNet(len(CLASSES), **exp["net"])
    shadow = Shadow(net, exp["train"]["ema"]) if exp["train"]["ema"] else None
    optimizer = make_optimizer(exp["optim"], net)
    scheduler = make_scheduler(exp["sched"], optimizer)
    criterion = make_criterion(exp["loss"])
    autocast = autocast_for(exp["train"]["amp"])
    record = RECORDERS[exp["log"]["to"]](args.workdir, exp["train"]["max_iters"])

    run = {"epoch": 0, "iter": 0, "best_miou": 0.0}
    if args.resume:
        kept = sorted(glob.glob(os.path.join(args.workdir, "snapshots", "*.pt")))
        path = kept[-1] if args.resume == "auto" else args.resume
        run = load_snapshot(path, net, shadow, optimizer, scheduler, order)
        print(f"resumed from {path}, iteration {run['iter']}")

    while run["iter"] < exp["train"]["max_iters"]:
        run["epoch"] += 1
        loader_tiles(train_loader).grain = grain_at(run["iter"], exp)
        clean_only = run["iter"] < exp["data"]["clean_slides_until"] * exp["train"]["max_iters"]
        loader = clean_loader if clean_only else train_loader
        train_epoch(run, net, shadow, loader, criterion, optimizer, scheduler, exp, autocast, record)

        scores = evaluate(shadow.net if shadow else net, val_loader, criterion, autocast)
        if not exp["log"]["class_iou"]:
            scores = {name: value for name, value in scores.items() if not name.startswith("iou_")}
        record(run["epoch"], run["iter"], "val", scores)
        state = (run, net, shadow, optimizer, scheduler, order, exp)
        if scores["miou"] > run["best_miou"]:
            run["best_miou"] = scores["miou"]
            save_snapshot(os.path.join(args.workdir, "best.pt"), *state)
        if run["epoch"] % exp["train"]["snapshot_every"] == 0 or run["iter"] >= exp["train"]["max_iters"]:
            save_snapshot(os.path.join(args.workdir, "snapshots", f"epoch_{run['epoch']:04d}.pt"), *state)
    print(f"best mIoU {run['best_miou']:.4f}")


if __name__ == "__main__":
    main()
