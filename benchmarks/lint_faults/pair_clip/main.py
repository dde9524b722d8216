import argparse
import math
import os

import torch
from torch.nn.parallel import DistributedDataParallel

import comm
from pairs import VOCAB, loaders
from towers import PairLoss, PairModel


def build_parser():
    parser = argparse.ArgumentParser("contrastive image-text pre-training")
    parser.add_argument("--epochs", default=3, type=int)
    parser.add_argument("--batch-size", default=16, type=int)
    parser.add_argument("--lr", default=2e-3, type=float)
    parser.add_argument("--wd", default=0.1, type=float)
    parser.add_argument("--warmup-epochs", default=1, type=int)
    parser.add_argument("--embed-dim", default=24, type=int)
    parser.add_argument("--width", default=16, type=int)
    parser.add_argument("--align-weight", default=0.1, type=float)
    parser.add_argument("--clip-grad", default=1.0, type=float)
    parser.add_argument("--min-gain", default=0.001, type=float, help="stop when recall gains less for two epochs")
    parser.add_argument("--print-freq", default=2, type=int)
    parser.add_argument("--workers", default=0, type=int)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--output", default="out_pair")
    parser.add_argument("--resume", default="", help="path of a checkpoint")
    return parser


def param_groups(model, wd):
    """No weight decay for gains, biases and the temperature."""
    decay, plain = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        (decay if p.ndim > 1 else plain).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


def set_lr(optimizer, args, progress):
    """Half-cosine after a linear warm-up; `progress` in epochs, with fractions."""
    if progress < args.warmup_epochs:
        lr = args.lr * progress / args.warmup_epochs
    else:
        rest = (progress - args.warmup_epochs) / max(1e-8, args.epochs - args.warmup_epochs)
        lr = args.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, rest)))
    for group in optimizer.param_groups:
        group["lr"] = lr


def train_one_epoch(model, criterion, optimizer, loader, device, epoch, args, rank):
    model.train()
    seen = torch.zeros((), device=device)
    for i, (images, ids) in enumerate(loader):
        set_lr(optimizer, args, epoch + (i + 1) / len(loader))
        images, ids = images.to(device, non_blocking=True), ids.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            zi, zt, scale = model(images, ids)
            loss = criterion(zi, zt, scale)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
        optimizer.step()
        seen += loss.detach()
        if i % args.print_freq == 0 and rank == 0:
            print(f"epoch {epoch} [{i}/{len(loader)}] loss {loss.item():.3f}")
    return comm.mean_over_ranks(seen / len(loader)).item()


@torch.no_grad()
def recall_at_1(model, loader, device):
    model.eval()
    scores = []
    for images, ids in loader:
        zi, zt, _ = model(images.to(device), ids.to(device))
        hit = (zi @ zt.t()).argmax(1) == torch.arange(len(zi), device=device)
        scores.append(hit.float().mean())
    return comm.mean_over_ranks(torch.stack(scores).mean()).item()


def main(args):
    rank, world, device = comm.init()
    torch.manual_seed(args.seed)
    train_loader, val_loader, sampler = loaders(args, rank, world)
    net = PairModel(VOCAB, args.width, args.embed_dim).to(device)
    optimizer = torch.optim.AdamW(param_groups(net, args.wd), lr=args.lr)
    criterion = PairLoss(args.align_weight)

    start, best, flat = 0, 0.0, 0
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        net.load_state_dict(ckpt["net"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start, best, flat = ckpt["epoch"] + 1, ckpt["best"], ckpt["flat"]
    model = DistributedDataParallel(net) if world > 1 else net
    torch.manual_seed(args.seed + 1 + rank)

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        train_loss = train_one_epoch(model, criterion, optimizer, train_loader, device, epoch, args, rank)
        recall = recall_at_1(model, val_loader, device)
        flat = 0 if recall > best + args.min_gain else flat + 1
        improved = recall > best
        best = max(best, recall)
        if rank == 0:
            print(f"epoch {epoch}: loss {train_loss:.3f} recall@1 {recall:.3f}")
            os.makedirs(args.output, exist_ok=True)
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
            state.update(epoch=epoch, best=best, flat=flat)
            torch.save(state, os.path.join(args.output, "last.pth"))
            if improved:
                torch.save(state, os.path.join(args.output, "best.pth"))
        comm.barrier()
        if flat >= 2:
            break


if __name__ == "__main__":
    main(build_parser().parse_args())
