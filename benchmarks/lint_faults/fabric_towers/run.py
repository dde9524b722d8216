"""Titles and pictures of products in one space.   python run.py optim.lr=3e-4 run.devices=4"""
import sys
import time
from itertools import islice

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset

import settings
from ckpt import Checkpoints
from towers import TwoTowers


def products(count, cfg, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(1, cfg.vocabulary, (count,), generator=g)
    tokens = torch.randint(1, cfg.vocabulary, (count, cfg.title_length), generator=g)
    tokens[:, 0] = kind
    lengths = torch.randint(0, cfg.title_length, (count, 1), generator=g)
    tokens[torch.arange(cfg.title_length)[None] > lengths] = 0
    image = 0.3 * torch.randn(count, 3, cfg.image_size, cfg.image_size, generator=g)
    image = image + (kind / cfg.vocabulary)[:, None, None, None]
    weight = (torch.rand(count, generator=g) > 0.1).float()
    return TensorDataset(tokens, image, weight)


def parameter_groups(model, weight_decay):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_then_cosine(optimizer, warmup, total):
    rise = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=warmup)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, total - warmup))
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], milestones=[warmup])


@torch.no_grad()
def validation_loss(fabric, model, loader):
    model.eval()
    losses = [model(*batch) for batch in loader]
    model.train()
    return fabric.all_reduce(torch.stack(losses).mean(), reduce_op="mean").item()


def train_epoch(fabric, model, optimizer, scheduler, loader, optim, progress):
    updates = len(loader) // optim.accumulate
    running = torch.zeros((), device=fabric.device)
    for i, batch in enumerate(islice(loader, updates * optim.accumulate), start=1):
        ready = i % optim.accumulate == 0
        with fabric.no_backward_sync(model, enabled=not ready):
            loss = model(*batch)
            fabric.backward(loss / optim.accumulate)
        running += loss.detach()
        if not ready:
            continue
        fabric.clip_gradients(model, optimizer, max_norm=optim.clip)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        progress.step += 1
    return running / (updates * optim.accumulate)


def main(argv):
    cfg = settings.load("config.yaml", argv)
    fabric = Fabric(devices=cfg.run.devices, precision=cfg.run.precision)
    fabric.launch()
    fabric.seed_everything(cfg.seed)
    fabric.print(settings.describe(cfg))

    loader = DataLoader(products(cfg.data.products, cfg.data, 1), cfg.data.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(products(64, cfg.data, 2), cfg.data.batch_size, drop_last=True)
    loader, val_loader = fabric.setup_dataloaders(loader, val_loader)

    model = TwoTowers(cfg.data.vocabulary, cfg.model.width, cfg.model.heads, cfg.model.temperature)
    optimizer = torch.optim.AdamW(parameter_groups(model, cfg.optim.weight_decay), lr=cfg.optim.lr)
    model, optimizer = fabric.setup(model, optimizer)
    total = cfg.optim.epochs * (len(loader) // cfg.optim.accumulate)
    scheduler = warmup_then_cosine(optimizer, cfg.optim.warmup_steps, total)

    keeper = Checkpoints(fabric, cfg.run.folder, model=model, optimizer=optimizer, scheduler=scheduler)
    if cfg.run.resume:
        keeper.restore()

    deadline = time.monotonic() + 60 * cfg.run.budget_minutes
    for epoch in range(keeper.epoch, cfg.optim.epochs):
        train_loss = train_epoch(fabric, model, optimizer, scheduler, loader, cfg.optim, keeper)
        val_loss = validation_loss(fabric, model, val_loader)
        fabric.print(f"epoch {epoch} step {keeper.step}: {train_loss.item():.3f} / {val_loss:.3f}")
        keeper.epoch = epoch + 1
        keeper.save(val_loss)
        if fabric.broadcast(time.monotonic() > deadline):
            fabric.print("out of time")
            break


if __name__ == "__main__":
    main(sys.argv[1:])
