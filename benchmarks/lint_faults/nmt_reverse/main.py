#!/usr/bin/env python
# Usage: main.py [--config base.toml] [--resume]
import argparse
import math
import os
import random
import tomllib

import torch
from torch import nn

from seq2seq import Translator
from text import PAD, batches, grouped, make_pairs


def noam(dim, factor, warmup):
    def rate(step):
        step += 1
        return factor * dim**-0.5 * min(step**-0.5, step * warmup**-1.5)

    return rate


def length_limit(epoch, data):
    """Short sentences first; all of them after `curriculum_epochs`."""
    if epoch >= data["curriculum_epochs"]:
        return data["max_len"]
    return max(4, data["max_len"] * (epoch + 1) // (data["curriculum_epochs"] + 1))


def up_to(pairs, limit):
    return [p for p in pairs if len(p[0]) <= limit]


def nll(model, criterion, batch, device):
    """The summed loss of a batch."""
    src, tgt_in, tgt_out = (x.to(device) for x in batch)
    logits = model(src, tgt_in)
    return criterion(logits.flatten(0, 1), tgt_out.flatten())


def n_tokens(batch):
    return int((batch[2] != PAD).sum())


def train_epoch(model, criterion, optimizer, scheduler, data, cfg, device):
    model.train()
    total, tokens = torch.zeros((), device=device), 0
    for group in grouped(data, cfg["accumulate"]):
        size = sum(n_tokens(b) for b in group)
        optimizer.zero_grad()
        for batch in group:
            loss = nll(model, criterion, batch, device)
            (loss / size).backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        optimizer.step()
        scheduler.step()
        tokens += size
    return total.item() / tokens


@torch.no_grad()
def perplexity(model, data, device):
    model.eval()
    plain = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
    total = sum(nll(model, plain, b, device).item() for b in data)
    return math.exp(total / sum(map(n_tokens, data)))


class Checkpointer:
    def __init__(self, folder, **parts):
        self.folder, self.parts = folder, parts
        os.makedirs(folder, exist_ok=True)

    def save(self, name, **extra):
        torch.save({**{k: p.state_dict() for k, p in self.parts.items()}, **extra}, os.path.join(self.folder, name))

    def restore(self, name, device):
        state = torch.load(os.path.join(self.folder, name), map_location=device)
        for k, p in self.parts.items():
            p.load_state_dict(state[k])
        return state


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="base.toml")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    with open(args.config, "rb") as f:
        cfg = tomllib.load(f)
    data_cfg, train_cfg = cfg["data"], cfg["train"]

    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_pairs = make_pairs(data_cfg["train_pairs"], data_cfg["vocab"], data_cfg["max_len"], seed=1)
    dev_pairs = make_pairs(data_cfg["dev_pairs"], data_cfg["vocab"], data_cfg["max_len"], seed=2)
    dev = batches(dev_pairs, data_cfg["tokens_per_batch"], shuffle=False)

    model = Translator(data_cfg["vocab"], **cfg["model"]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, noam(cfg["model"]["dim"], train_cfg["factor"], train_cfg["warmup"])
    )
    criterion = nn.CrossEntropyLoss(
        ignore_index=PAD, reduction="sum", label_smoothing=train_cfg["label_smoothing"]
    )
    checkpoints = Checkpointer(cfg["run_dir"], model=model, optimizer=optimizer, scheduler=scheduler)

    epoch, best = 0, float("inf")
    if args.resume:
        state = checkpoints.restore("last.pt", device)
        epoch, best = state["epoch"], state["best"]

    while epoch < train_cfg["epochs"]:
        seen = up_to(train_pairs, length_limit(epoch, data_cfg))
        data = batches(seen, data_cfg["tokens_per_batch"], shuffle=True)
        loss = train_epoch(model, criterion, optimizer, scheduler, data, train_cfg, device)
        ppl = perplexity(model, dev, device)
        epoch += 1
        print(f"epoch {epoch}: {len(seen)} pairs, loss {loss:.3f}, dev perplexity {ppl:.2f}")
        improved, best = ppl < best, min(ppl, best)
        checkpoints.save("last.pt", epoch=epoch, best=best)
        if improved:
            checkpoints.save("best.pt", epoch=epoch, best=best)


if __name__ == "__main__":
    main()
