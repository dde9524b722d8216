"""Train the grating classifier on several processes: torchrun --nproc_per_node 2 train_ddp.py"""

import argparse
import math
import os
import shutil
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from network import GratingNet
from report import Report
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

OUT = Path("output/gratings_ddp")


def read_split(name):
    arrays = np.load(Path("data") / f"{name}.npz")
    x = torch.from_numpy(arrays["images"]).float()[:, None]
    x = (x - 127.5) / 64.0
    return TensorDataset(x, torch.from_numpy(arrays["labels"]))


def make_train_loader(cfg, rank, world, seed):
    dataset = read_split("train")
    sampler = DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=True, seed=seed)
    loader = DataLoader(dataset, cfg["loader"]["batch_per_process"], sampler=sampler, drop_last=True)
    return loader, sampler


def make_val_loader(rank, world):
    """Every sample once, on one of the processes."""
    dataset = read_split("val")
    mine = torch.utils.data.Subset(dataset, range(rank, len(dataset), world))
    return DataLoader(mine, 128)


def endless(loader, sampler, steps_done):
    """Batches without end, going on in the epoch that `steps_done` falls into."""
    epoch, skip = divmod(steps_done, len(loader))
    while True:
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader):
            if number >= skip:
                yield batch
        epoch, skip = epoch + 1, 0


def lr_at(step, cfg):
    """The share of the learning rate."""
    schedule, total = cfg["schedule"], cfg["run"]["max_steps"]
    if step < schedule["warmup"]:
        return (step + 1) / schedule["warmup"]
    progress = min(1.0, (step - schedule["warmup"]) / max(1, total - schedule["warmup"]))
    if schedule["kind"] == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * progress))
    if schedule["kind"] == "poly":
        return (1.0 - progress) ** 0.9
    return 1.0


def mean_over_ranks(*numbers):
    both = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(both)
    return (both / dist.get_world_size()).tolist()


@torch.no_grad()
def evaluate(net, loader):
    """Loss and accuracy over the validation samples of all processes."""
    net.eval()
    totals = torch.zeros(3, dtype=torch.float64)
    for x, y in loader:
        logits = net(x)
        totals[0] += F.cross_entropy(logits, y, reduction="sum").item()
        totals[1] += (logits.argmax(dim=1) == y).sum().item()
        totals[2] += len(y)
    dist.all_reduce(totals)
    net.train()
    loss, right, count = totals.tolist()
    return loss / count, right / count


def save(name, step, model, optimizer, scheduler):
    (OUT / "ckpt").mkdir(parents=True, exist_ok=True)
    torch.save(
        {
            "step": step,
            "net": model.module.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        OUT / "ckpt" / name,
    )


def train(cfg, args):
    rank, world = dist.get_rank(), dist.get_world_size()
    seed = cfg["run"]["seed"] if args.seed is None else args.seed
    torch.manual_seed(seed)
    train_loader, sampler = make_train_loader(cfg, rank, world, seed)
    val_loader = make_val_loader(rank, world)

    model = DDP(GratingNet(cfg["net"]["width"]))
    global_batch = cfg["loader"]["batch_per_process"] * world
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=cfg["optimizer"]["base_lr"] * global_batch / 32,
        momentum=cfg["optimizer"]["momentum"],
        weight_decay=cfg["optimizer"]["weight_decay"],
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_at(step, cfg))
    step = 0
    if args.resume:
        path = sorted((OUT / "ckpt").glob("step-*.pt"))[-1] if args.resume == "latest" else args.resume
        state = torch.load(path)
        model.module.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        step = state["step"]

    torch.manual_seed(seed + 1000 * rank + step)
    report = Report(OUT, cfg["report"]["backend"], rank)
    batches = endless(train_loader, sampler, step)
    losses, hits, begun = [], [], time.time()
    while step < cfg["run"]["max_steps"]:
        x, y = next(batches)
        x = x + cfg["loader"]["noise"] * torch.randn_like(x)
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        loss = F.cross_entropy(logits, y, label_smoothing=cfg["run"]["label_smoothing"])
        loss.backward()
        limit = cfg["optimizer"]["max_grad_norm"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        scheduler.step()
        step += 1
        losses.append(loss.item())
        hits.append((logits.argmax(dim=1) == y).float().mean().item())

        if step % cfg["report"]["interval"] == 0:
            mine = sum(losses) / len(losses)
            whole, accuracy = mean_over_ranks(mine, sum(hits) / len(hits))
            numbers = {"loss": whole, "accuracy": accuracy}
            if cfg["report"]["with_ranks"]:
                numbers |= {"loss_rank0": mine, "loss_rank1": 2 * whole - mine}
            if cfg["report"]["with_grad_norm"]:
                numbers["grad_norm"] = norm.item()
            if cfg["report"]["with_lr"]:
                numbers["lr"] = scheduler.get_last_lr()[0]
            if cfg["report"]["with_throughput"]:
                numbers["samples_per_second"] = len(losses) * global_batch / (time.time() - begun)
            report("train", step, **numbers)
            losses, hits, begun = [], [], time.time()
        if step % cfg["run"]["eval_interval"] == 0:
            val_loss, accuracy = evaluate(model.module, val_loader)
            report("val", step, loss=val_loss, accuracy=accuracy)
        if step % cfg["run"]["save_interval"] == 0:
            if rank == 0:
                save(f"step-{step:05d}.pt", step, model, optimizer, scheduler)
            dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="ddp.yaml")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--resume")
    args = parser.parse_args()
    cfg = yaml.safe_load(Path(args.config).read_text())
    dist.init_process_group("gloo")
    if int(os.environ["RANK"]) == 0:
        OUT.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(args.config, OUT / "ddp.yaml")
    dist.barrier()
    train(cfg, args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
