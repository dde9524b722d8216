"""torchrun --nproc_per_node=2 train_ddp.py"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", default=3, type=int)
    p.add_argument("--batch-size", default=8, type=int, help="per process")
    p.add_argument("--lr", default=0.05, type=float)
    p.add_argument("--patience", default=5, type=int)
    p.add_argument("--print-freq", default=4, type=int)
    p.add_argument("--ckpt", default="ddp.pt")
    return p.parse_args()


def setup():
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return rank, torch.device("cuda", local_rank)
    return rank, torch.device("cpu")


def make_data(seed, n=160):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 16, generator=g)
    y = ((x[:, :4].sum(1) > 0).long() + (x[:, 4:8].sum(1) > 1).long())
    return TensorDataset(x, y)


def build_model():
    return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))


def average(value, device):
    value = torch.as_tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(value)
    return value / dist.get_world_size()


def validate(model, loader, criterion, device):
    model.eval()
    loss, hits, count = torch.zeros(3, dtype=torch.float64, device=device)
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss += criterion(logits, y) * len(y)
            hits += (logits.argmax(1) == y).sum()
            count += len(y)
    totals = torch.stack([loss, hits, count])
    dist.all_reduce(totals)
    return (totals[0] / totals[2]).item(), (totals[1] / totals[2]).item()


def main():
    args = get_args()
    rank, device = setup()
    torch.manual_seed(1234)
    train_set, val_set = make_data(0), make_data(1, 64)
    train_sampler = DistributedSampler(train_set, shuffle=True)
    val_sampler = DistributedSampler(val_set, shuffle=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, sampler=train_sampler)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, sampler=val_sampler)

    model = build_model().to(device)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model) if device.type == "cuda" else model
    model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2], gamma=0.1)

    best_acc, bad_epochs = 0.0, 0
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        model.train()
        for it, (x, y) in enumerate(train_loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if it % args.print_freq == 0:
                mean = average(loss.detach(), device)
                if rank == 0:
                    print(f"epoch {epoch} it {it} loss {mean.item():.4f}", flush=True)
        scheduler.step()

        val_loss, val_acc = validate(model, val_loader, criterion, device)
        if rank == 0:
            print(f"epoch {epoch}: val loss {val_loss:.4f} acc {val_acc:.3f}", flush=True)
        if val_acc > best_acc:
            best_acc, bad_epochs = val_acc, 0
            if rank == 0:
                torch.save(model.module.state_dict(), args.ckpt)
        else:
            bad_epochs += 1
        if bad_epochs >= args.patience:
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
