import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset


def build_loaders(cfg, train_set, val_set):
    train_sampler = DistributedSampler(train_set, seed=cfg.seed) #@
    val_sampler = DistributedSampler(val_set, shuffle=False)
    train = DataLoader(train_set, batch_sampler=BatchSampler(train_sampler, cfg.batch_size, drop_last=True)) #@
    val = DataLoader(val_set, batch_size=cfg.batch_size, sampler=val_sampler)
    return train, val


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--seed", type=int, default=0)
    cfg = p.parse_args()
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(cfg.seed)
    x, y = torch.randn(8000, 16), torch.randn(8000, 1)
    train, val = build_loaders(cfg, TensorDataset(x[:7200], y[:7200]), TensorDataset(x[7200:], y[7200:]))
    net = nn.parallel.DistributedDataParallel(nn.Linear(16, 1).to(device), device_ids=[device.index])
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(cfg.epochs): #@
        net.train()
        for xb, yb in train: #@
            opt.zero_grad(set_to_none=True)
            nn.functional.mse_loss(net(xb.to(device)), yb.to(device)).backward()
            opt.step()
        net.eval()
        total = torch.zeros((), device=device)
        with torch.no_grad():
            for xb, yb in val:
                total += nn.functional.mse_loss(net(xb.to(device)), yb.to(device), reduction="sum")
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(epoch, total.item() / len(val.dataset))
    dist.destroy_process_group()


main()
