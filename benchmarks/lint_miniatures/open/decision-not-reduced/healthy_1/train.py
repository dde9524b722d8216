import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def validate(model, loader):
    model.eval()
    stats = torch.zeros(2, device="cuda")
    for x, y in loader:
        stats[0] += nn.functional.mse_loss(model(x.cuda()), y.cuda(), reduction="sum")
        stats[1] += len(x)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


dist.init_process_group("nccl")
torch.manual_seed(0)
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
x, y = torch.randn(5000, 8), torch.randn(5000, 1)
train_set, val_set = TensorDataset(x[:4000], y[:4000]), TensorDataset(x[4000:], y[4000:])
sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=40, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=40, sampler=DistributedSampler(val_set, shuffle=False))
model = DDP(nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1)).cuda(), device_ids=[gpu])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, bad = float("inf"), 0
for epoch in range(100):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(xb.cuda()), yb.cuda()).backward()
        optimizer.step()
    val_loss = validate(model.module, val_loader)
    best, bad = (val_loss, 0) if val_loss < best else (best, bad + 1)
    if bad >= 5:
        break
dist.destroy_process_group()
