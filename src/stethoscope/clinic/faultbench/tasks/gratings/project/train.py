"""Train a classifier of gratings: python train.py --config config.yaml"""

import argparse
import copy
import math
import shutil
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from log import Log
from model import Classifier
from torch.utils.data import DataLoader, TensorDataset

RUN = Path("runs/gratings")


def load(split):
    """The pictures of a split and their classes."""
    arrays = np.load(f"data/{split}.npz")
    images = torch.from_numpy(arrays["images"]).float().unsqueeze(1) / 255.0
    images = (images - 0.5) / 0.25
    return TensorDataset(images, torch.from_numpy(arrays["labels"]).long())


def learning_rate(step, config):
    """The share of the rate at a step: warm-up, then the schedule."""
    optim, steps = config["optim"], config["train"]["steps"]
    if step < optim["warmup_steps"]:
        return (step + 1) / optim["warmup_steps"]
    if optim["schedule"] == "constant":
        return 1.0
    done = (step - optim["warmup_steps"]) / max(1, steps - optim["warmup_steps"])
    if optim["schedule"] == "linear":
        return max(0.0, 1.0 - done)
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))


def make_optimizer(model, config):
    """The optimizer that the settings name."""
    optim = config["optim"]
    if optim["name"] == "adamw":
        return torch.optim.AdamW(
            model.parameters(), lr=optim["lr"] * 0.03, weight_decay=optim["weight_decay"]
        )
    return torch.optim.SGD(
        model.parameters(),
        lr=optim["lr"],
        momentum=optim["momentum"],
        weight_decay=optim["weight_decay"],
    )


@torch.no_grad()
def update_average(average, model, decay):
    """Move the averaged weights towards those of the model."""
    for mean, weight in zip(average.parameters(), model.parameters()):
        mean.lerp_(weight, 1.0 - decay)
    for mean, buffer in zip(average.buffers(), model.buffers()):
        mean.copy_(buffer)


@torch.no_grad()
def evaluate(model, loader):
    """Loss and accuracy over a split."""
    model.eval()
    loss, right, count = 0.0, 0, 0
    for images, labels in loader:
        logits = model(images)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(1) == labels).sum().item()
        count += len(labels)
    model.train()
    return loss / count, right / count


def save(path, step, model, average, optimizer, scheduler, best):
    """Keep everything that going on needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "step": step,
        "model": model.state_dict(),
        "average": average.state_dict() if average is not None else None,
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "best": best,
    }
    torch.save(state, path)


def batches(loader):
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--resume", help="a checkpoint, or latest")
    args = parser.parse_args()
    config = yaml.safe_load(Path(args.config).read_text())
    seed = config["seed"] if args.seed is None else args.seed
    torch.manual_seed(seed)
    RUN.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.config, RUN / "config.yaml")

    train_loader = DataLoader(
        load("train"), config["data"]["batch_size"], shuffle=config["data"]["shuffle"], drop_last=True
    )
    val_loader = DataLoader(load("val"), 256)
    model = Classifier(config["model"]["width"], config["model"]["dropout"])
    decay = config["train"]["ema_decay"]
    average = copy.deepcopy(model) if decay else None
    optimizer = make_optimizer(model, config)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, config))
    step, best = 0, 0.0
    if args.resume:
        kept = sorted((RUN / "checkpoints").glob("step_*.pt"))
        state = torch.load(kept[-1] if args.resume == "latest" else args.resume)
        model.load_state_dict(state["model"])
        if average is not None:
            average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        step, best = state["step"], state["best"]

    log = Log(RUN, config["log"]["format"])
    total_loss, right, seen = 0.0, 0, 0
    source = batches(train_loader)
    model.train()
    while step < config["train"]["steps"]:
        optimizer.zero_grad()
        for _ in range(config["train"]["accumulate"]):
            images, labels = next(source)
            if config["data"]["jitter"]:
                images = images + 0.05 * torch.randn_like(images)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=config["train"]["amp"] == "bf16"):
                logits = model(images)
            loss = F.cross_entropy(logits.float(), labels, label_smoothing=config["train"]["label_smoothing"])
            (loss / config["train"]["accumulate"]).backward()
            total_loss += loss.item() * len(labels)
            right += (logits.argmax(1) == labels).sum().item()
            seen += len(labels)
        limit = config["optim"]["clip_norm"] or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        scheduler.step()
        step += 1
        if average is not None:
            update_average(average, model, decay)

        if step % config["log"]["every"] == 0:
            values = {"loss": total_loss / seen, "accuracy": right / seen}
            if config["log"]["grad_norm"]:
                values["grad_norm"] = norm.item()
            if config["log"]["lr"]:
                values["lr"] = scheduler.get_last_lr()[0]
            log.write(step, "train", values)
            total_loss, right, seen = 0.0, 0, 0
        if step % config["eval"]["every"] == 0:
            val_loss, accuracy = evaluate(average or model, val_loader)
            log.write(step, "val", {"loss": val_loss, "accuracy": accuracy})
            if accuracy > best:
                best = accuracy
                save(RUN / "best.pt", step, model, average, optimizer, scheduler, best)
        if step % config["checkpoint"]["every"] == 0:
            path = RUN / "checkpoints" / f"step_{step:06d}.pt"
            save(path, step, model, average, optimizer, scheduler, best)


if __name__ == "__main__":
    main()
