"""Speech denoising on several GPUs:  torchrun --nproc_per_node 4 train.py --epochs 100"""
import argparse
import copy
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from losses import DenoiseLoss
from model import Denoiser


class NoisyTones(Dataset):
    def __init__(self, count, length, seed):
        self.count, self.length, self.seed = count, length, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = torch.Generator().manual_seed(self.seed + index)
        t = torch.arange(self.length) / 8000
        pitch, phase = 100 + 400 * torch.rand(2, generator=rng)
        clean = 0.5 * torch.sin(2 * torch.pi * pitch * t + phase)
        return clean + 0.1 * torch.randn(self.length, generator=rng), clean


class WeightAverage:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - decay)

    def state_dict(self):
        return {"model": self.model.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.updates = state["updates"]


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--segment", type=int, default=1024)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--ema-decay", type=float, default=0.999)
    p.add_argument("--patience", type=int, default=5)
    p.add_argument("--band-weight", type=float, default=0.5)
    p.add_argument("--out", default="last.pt")
    p.add_argument("--resume", action="store_true")
    return p.parse_args()


def world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def any_rank(flag, device):
    flag = flag.to(device, torch.float32)
    if dist.is_initialized():
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def mean_over_ranks(total, count, device):
    both = torch.tensor([total, count], dtype=torch.float64, device=device)
    if dist.is_initialized():
        dist.all_reduce(both)
    return (both[0] / both[1]).item()


@torch.no_grad()
def validate(net, criterion, loader, device):
    net.eval()
    total, count = 0.0, 0
    for noisy, clean in loader:
        noisy, clean = noisy.to(device), clean.to(device)
        total += criterion(net(noisy), clean).item() * len(noisy)
        count += len(noisy)
    return mean_over_ranks(total, count, device)


def save(path, epoch, best, bad_epochs, parts):
    state = {name: part.state_dict() for name, part in parts.items()}
    torch.save({"epoch": epoch, "best": best, "bad_epochs": bad_epochs, **state}, path)


def restore(path, parts, device):
    state = torch.load(path, map_location=device)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return state["epoch"] + 1, state["best"], state["bad_epochs"]


def main():
    args = get_args()
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    torch.manual_seed(7)

    train_set = NoisyTones(64, args.segment, seed=0)
    val_set = NoisyTones(16, args.segment, seed=10_000)
    sampler = DistributedSampler(train_set, world_size(), rank, shuffle=True, drop_last=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, sampler=DistributedSampler(val_set, world_size(), rank, shuffle=False))

    net = Denoiser().to(device)
    criterion = DenoiseLoss(band_weight=args.band_weight).to(device)
    average = WeightAverage(net, args.ema_decay)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
    amp = device.type == "cuda"
    scaler = torch.amp.GradScaler(device.type, enabled=amp)

    parts = {"net": net, "average": average, "optimizer": optimizer, "schedule": schedule, "scaler": scaler}
    first, best, bad_epochs = 0, float("inf"), 0
    if args.resume:
        first, best, bad_epochs = restore(args.out, parts, device)
    ddp = DDP(net) if dist.is_initialized() else net

    for epoch in range(first, args.epochs):
        ddp.train()
        sampler.set_epoch(epoch)
        for noisy, clean in loader:
            noisy, clean = noisy.to(device), clean.to(device)
            with torch.autocast(device.type, dtype=torch.float16, enabled=amp):
                estimate = ddp(noisy)
                loss = criterion(estimate, clean)
            if any_rank(~torch.isfinite(loss.detach()), device):
                continue
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            if scaler.get_scale() >= before:
                schedule.step()
            average.update(net)

        val_loss = validate(average.model, criterion, val_loader, device)
        bad_epochs = 0 if val_loss < best else bad_epochs + 1
        best = min(best, val_loss)
        if rank == 0:
            print(f"epoch {epoch}: validation {val_loss:.4f}, best {best:.4f}")
            save(args.out, epoch, best, bad_epochs, parts)
        if bad_epochs >= args.patience:
            break
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
