"""Train a small GPT on lines of characters, in as many processes as torchrun starts."""

import argparse
import math
import os
import shutil
import time
import tomllib
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from minigpt.journal import Journal
from minigpt.net import MiniGPT, nats
from minigpt.shards import Shard
from torch.nn.parallel import DistributedDataParallel

RUN = Path("results/minigpt")
CHARACTERS = 50


def share_of_rate(step, optim, steps):
    """Warm-up, then down to the final share."""
    if step < optim["warmup"]:
        return (step + 1) / optim["warmup"]
    if optim["schedule"] == "constant":
        return 1.0
    done = min(1.0, (step - optim["warmup"]) / (steps - optim["warmup"]))
    down = 1.0 - done if optim["schedule"] == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
    return optim["final_share"] + (1.0 - optim["final_share"]) * down


@torch.no_grad()
def validate(net, shard):
    """Nats per character over the validation lines of all ranks."""
    net.eval()
    sums = torch.zeros(2, dtype=torch.float64)
    for index in range(shard.per_epoch):
        characters, following = shard.at(index)
        count = (following > 0).sum()
        sums += torch.stack([nats(net(characters), following).double() * count, count.double()])
    dist.all_reduce(sums)
    net.train()
    return (sums[0] / sums[1]).item()


@torch.no_grad()
def follow(average, net, decay):
    for mean, weight in zip(average.parameters(), net.parameters()):
        mean.lerp_(weight, 1.0 - decay)


def newest(folder):
    return sorted(folder.glob("step-*.ckpt"))[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/chars.toml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", metavar="latest|FILE")
    args = parser.parse_args()
    config = tomllib.loads(Path(args.config).read_text())
    data, optim, train, noted = config["data"], config["optim"], config["train"], config["journal"]

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        (RUN / "weights").mkdir(parents=True, exist_ok=True)
        shutil.copy(args.config, RUN / "chars.toml")
    dist.barrier()

    torch.manual_seed(args.seed)
    net = MiniGPT(CHARACTERS, **config["model"])
    average = None
    if train["ema"]:
        average = MiniGPT(CHARACTERS, **config["model"])
        average.load_state_dict(net.state_dict())
    ddp = DistributedDataParallel(net)
    lines = Shard("data/train.npz", rank, world, data["batch_per_rank"], args.seed)
    held_back = Shard("data/val.npz", rank, world, 8, 0)

    batch = data["batch_per_rank"] * data["accumulate"] * world
    rate = optim["base_lr"] * math.sqrt(batch / 20)
    matrices = [weight for weight in net.parameters() if weight.ndim > 1]
    vectors = [weight for weight in net.parameters() if weight.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": optim["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}],
        lr=rate,
        betas=tuple(optim["betas"]),
        fused=True,
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: share_of_rate(step, optim, train["steps"])
    )
    first = 0
    if args.resume:
        file = newest(RUN / "weights") if args.resume == "latest" else Path(args.resume)
        state = torch.load(file)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        if average is not None:
            average.load_state_dict(state["average"])
        first = state["step"]

    journal = Journal(RUN, noted["kind"], rank)
    cast = torch.autocast("cpu", torch.bfloat16) if train["precision"] == "bf16" else nullcontext()
    clock = time.perf_counter()
    for step in range(first + 1, train["steps"] + 1):
        surprise = 0.0
        for part in range(data["accumulate"]):
            characters, following = lines.at((step - 1) * data["accumulate"] + part)
            is_last = part == data["accumulate"] - 1
            with nullcontext() if is_last else ddp.no_sync():
                with cast:
                    logits = ddp(characters)
                loss = nats(logits, following) / data["accumulate"]
                loss.backward()
            surprise += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(ddp.parameters(), optim["clip"] or math.inf)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if average is not None:
            follow(average, net, train["ema"])

        if step % noted["every"] == 0:
            each = [torch.zeros(1) for _ in range(world)]
            dist.all_gather(each, torch.tensor([surprise]))
            values = {"loss": sum(one.item() for one in each) / world}
            if noted["rank_losses"]:
                values |= {f"loss_rank{number}": one.item() for number, one in enumerate(each)}
            if noted["rate"]:
                values["lr"] = scheduler.get_last_lr()[0]
            if noted["grad_norm"]:
                values["grad_norm"] = norm.item()
            if noted["seconds"]:
                values["step_seconds"] = (time.perf_counter() - clock) / noted["every"]
            clock = time.perf_counter()
            journal.note("train", step, values)
        if step % train["validate_every"] == 0:
            journal.note("valid", step, {"loss": validate(average or net, held_back)})
        if step % train["save_every"] == 0 and rank == 0:
            state = {
                "step": step,
                "net": net.state_dict(),
                "average": average.state_dict() if average is not None else None,
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "model": config["model"],
            }
            torch.save(state, RUN / "weights" / f"step-{step:05d}.ckpt")
    dist.destroy_process_group()


if __name__ == "__main__":
    # torchrun sets these; one process alone needs none
    os.environ.setdefault("RANK", "0")
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    main()
