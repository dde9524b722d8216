"""python train.py [settings.json]   or   torchrun --nproc-per-node N train.py"""
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tickets.data import TicketData
from tickets.losses import total_loss
from tickets.model import Router
from tickets.scoring import Keeper, Scorer


def setup():
    if "RANK" not in os.environ:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu"), 0
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return torch.device("cuda", int(os.environ["LOCAL_RANK"])), dist.get_rank()
    return torch.device("cpu"), dist.get_rank()


def train_epoch(model, batches, optimizer, weights, clip, device):
    total, count = torch.zeros((), device=device), 0
    for batch in batches:
        batch = {k: v.to(device) for k, v in batch.items()}
        loss = total_loss(model(batch["words"]), batch, weights)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.detach()
        count += 1
    return (total / count).item()


def main(path="settings.json"):
    with open(path) as f:
        cfg = json.load(f)
    device, rank = setup()
    torch.manual_seed(cfg["seed"])
    data = TicketData(**cfg["data"])
    net = Router(data.vocab, **cfg["model"]).to(device)
    model = DistributedDataParallel(net) if dist.is_initialized() else net
    hp = cfg["training"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp["lr"])
    scorer, keeper = Scorer(hp["threshold"], device), Keeper(cfg["output"], enabled=rank == 0)

    model.train()
    for epoch in range(hp["epochs"]):
        train_loss = train_epoch(model, data.epoch(epoch), optimizer, cfg["terms"], hp["clip"], device)
        scores = scorer(model, data.dev())
        kept = keeper.offer(scores["f1"] + scores["accuracy"], net)
        if rank == 0:
            print(f"{epoch} loss {train_loss:.4f} f1 {scores['f1']:.3f} acc {scores['accuracy']:.3f}{' *' if kept else ''}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
