import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from dist_utils import log, save_checkpoint, setup, sum_over_ranks
from segdata import make_loaders
from unet import BCEDice, UNet


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.json")
    ap.add_argument("--resume-from", default="")
    ap.add_argument("--lr", type=float, default=None, help="overrides the one of the config")
    return ap.parse_args()


def load_config(args):
    with open(args.config) as fh:
        cfg = json.load(fh)
    if args.lr is not None:
        cfg["optim"]["lr"] = args.lr
    return cfg


class Stopper:
    """Counts the epochs without a better score."""

    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("-inf"), 0

    def update(self, score):
        better = score > self.best
        self.best = max(self.best, score)
        self.bad = 0 if better else self.bad + 1
        return better

    @property
    def done(self):
        return self.bad >= self.patience

    def state_dict(self):
        return vars(self).copy()

    def load_state_dict(self, state):
        vars(self).update(state)


def train_one_epoch(model, loader, criterion, optimizer, scaler, device, cfg):
    model.train()
    use_amp = scaler.is_enabled()
    total = torch.zeros((), device=device)
    for image, mask in loader:
        image = image.to(device, non_blocking=True)
        mask = mask.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
            logits = model(image)
        loss = criterion(logits, mask)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), cfg["optim"]["clip"])
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()
    loss_sum, batches = sum_over_ranks(total.item(), len(loader), device=device)
    return loss_sum / batches


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    dice = torch.zeros((), device=device)
    n = 0
    for image, mask in loader:
        mask = mask.to(device)
        pred = (model(image.to(device)).sigmoid() > 0.5).float()
        inter = (pred * mask).sum((1, 2, 3))
        dice += ((2 * inter + 1e-6) / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1e-6)).sum()
        n += image.shape[0]
    dice_sum, count = sum_over_ranks(dice.item(), n, device=device)
    return dice_sum / count


def main():
    args = get_args()
    cfg = load_config(args)
    device = setup()
    torch.manual_seed(cfg["seed"] + dist.get_rank())
    train_loader, val_loader = make_loaders(cfg["data"], cfg["seed"])
    o = cfg["optim"]

    net = nn.SyncBatchNorm.convert_sync_batchnorm(UNet(**cfg["model"])) if device.type == "cuda" else UNet(**cfg["model"])
    net = net.to(device)
    model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
    criterion = BCEDice(**cfg["loss"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
    scheduler = SequentialLR(
        optimizer,
        [
            LinearLR(optimizer, start_factor=0.1, total_iters=o["warmup_epochs"]),
            CosineAnnealingLR(optimizer, T_max=o["epochs"] - o["warmup_epochs"]),
        ],
        milestones=[o["warmup_epochs"]],
    )
    scaler = torch.amp.GradScaler(device.type, enabled=cfg["amp"] and device.type == "cuda")
    stopper = Stopper(cfg["patience"])

    first_epoch = 0
    if args.resume_from:
        ckpt = torch.load(args.resume_from, map_location=device)
        net.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        scaler.load_state_dict(ckpt["scaler"])
        stopper.load_state_dict(ckpt["stopper"])
        first_epoch = ckpt["epoch"] + 1

    for epoch in range(first_epoch, o["epochs"]):
        train_loader.sampler.set_epoch(epoch)
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer, scaler, device, cfg)
        scheduler.step()
        val_dice = evaluate(net, val_loader, device)
        log(f"epoch {epoch}: loss {train_loss:.4f} dice {val_dice:.4f}")
        is_best = stopper.update(val_dice)
        state = {
            "model": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "scaler": scaler.state_dict(),
            "stopper": stopper.state_dict(),
            "epoch": epoch,
        }
        save_checkpoint(os.path.join(cfg["workdir"], "last.pth"), **state)
        if is_best:
            save_checkpoint(os.path.join(cfg["workdir"], "best.pth"), **state)
        if stopper.done:
            log("no better dice, stopping")
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
