"""Self-supervised pre-training on bird calls.

    torchrun --nproc_per_node 4 main.py --epochs 200 --amp --out runs/birds
"""
import argparse
import math
import os

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from builder import MoCo
from dataset import ChirpPatches
from dist_utils import init_distributed, reduce_mean, unwrap


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", default=2, type=int)
    ap.add_argument("--batch", default=16, type=int, help="per process")
    ap.add_argument("--base-lr", default=1e-3, type=float, help="for a batch of 256")
    ap.add_argument("--wd", default=1e-6, type=float)
    ap.add_argument("--moco-m", default=0.99, type=float)
    ap.add_argument("--moco-t", default=0.2, type=float)
    ap.add_argument("--dim", default=32, type=int)
    ap.add_argument("--clip", default=3.0, type=float)
    ap.add_argument("--amp", action="store_true", help="float16 autocast on the GPU")
    ap.add_argument("--patience", default=20, type=int)
    ap.add_argument("--clips", default=128, type=int)
    ap.add_argument("--print-freq", default=4, type=int)
    ap.add_argument("--resume", default="", type=str)
    ap.add_argument("--out", default="runs/birds")
    return ap.parse_args()


def loaders(args, rank, world):
    train = ChirpPatches(args.clips, 32, 32)
    val = ChirpPatches(max(64, args.clips // 4), 32, 32, seed=9, two_views=False)
    sampler = DistributedSampler(train, world, rank, shuffle=True, drop_last=True)
    val_sampler = DistributedSampler(val, world, rank, shuffle=False)
    return (
        DataLoader(train, args.batch, sampler=sampler, drop_last=True, pin_memory=torch.cuda.is_available()),
        DataLoader(val, args.batch, sampler=val_sampler, drop_last=True),
        sampler,
    )


def momentum_at(epoch_f, args):
    return 1.0 - 0.5 * (1.0 + math.cos(math.pi * epoch_f / args.epochs)) * (1.0 - args.moco_m)


def warm_cosine(it, total):
    warm = max(1, total // 10)
    if it < warm:
        return (it + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (it - warm) / max(1, total - warm))))


def train(model, loader, opt, sched, scaler, epoch, args, device, rank):
    model.train()
    core = unwrap(model)
    use_amp = scaler.is_enabled()
    running = torch.zeros((), device=device)
    for i, (x1, x2) in enumerate(loader):
        x1, x2 = x1.to(device, non_blocking=True), x2.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
            q1, q2, k1, k2 = model(x1, x2)
            loss = core.contrast(q1, k2) + core.contrast(q2, k1)
        opt.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(opt)
        scaler.update()
        sched.step()
        core.update_momentum(momentum_at(epoch + i / len(loader), args))
        running += loss.detach()
        if (i + 1) % args.print_freq == 0 and rank == 0:
            print(f"epoch {epoch} [{i + 1}/{len(loader)}] loss {running.item() / (i + 1):.4f}")


@torch.no_grad()
def validate(model, loader, device):
    """Contrastive loss between a call and its shifted copy, mean over all ranks."""
    core = unwrap(model)
    core.eval()
    losses = []
    for a, b in loader:
        q, _, _, k = core(a.to(device), b.to(device))
        losses.append(core.contrast(q, k))
    core.train()
    return reduce_mean(torch.stack(losses).mean()).item()


def main():
    args = parse()
    rank, world, device = init_distributed()
    torch.manual_seed(17 + rank)
    os.makedirs(args.out, exist_ok=True)
    train_loader, val_loader, sampler = loaders(args, rank, world)
    model = MoCo(dim=args.dim, T=args.moco_t).to(device)
    if world > 1:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) if device.type == "cuda" else model
        model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    lr = args.base_lr * args.batch * world / 256
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=args.wd)
    total = args.epochs * len(train_loader)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda it: warm_cosine(it, total))
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp and device.type == "cuda")

    first, best, stale = 0, math.inf, 0
    if args.resume:
        ck = torch.load(args.resume, map_location=device, weights_only=True)
        unwrap(model).load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        sched.load_state_dict(ck["sched"])
        scaler.load_state_dict(ck["scaler"])
        first, best, stale = ck["epoch"] + 1, ck["best"], ck["stale"]

    for epoch in range(first, args.epochs):
        sampler.set_epoch(epoch)
        train(model, train_loader, opt, sched, scaler, epoch, args, device, rank)
        val = validate(model, val_loader, device)
        stale = 0 if val < best else stale + 1
        if rank == 0:
            print(f"epoch {epoch} validation {val:.4f}")
            state = {
                "model": unwrap(model).state_dict(),
                "opt": opt.state_dict(),
                "sched": sched.state_dict(),
                "scaler": scaler.state_dict(),
                "epoch": epoch,
                "best": min(val, best),
                "stale": stale,
            }
            torch.save(state, os.path.join(args.out, "last.pt"))
            if val < best:
                torch.save(unwrap(model).base.state_dict(), os.path.join(args.out, "encoder_best.pt"))
        best = min(best, val)
        if stale > args.patience:
            break
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
