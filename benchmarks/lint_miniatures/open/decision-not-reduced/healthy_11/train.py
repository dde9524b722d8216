import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
x, y = torch.randn(12000, 32), torch.randint(0, 4, (12000,))
train_set, val_set = TensorDataset(x[:10000], y[:10000]), TensorDataset(x[10000:], y[10000:])
sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=50, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=100, sampler=DistributedSampler(val_set, shuffle=False))
model = DDP(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).cuda(), device_ids=[rank])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, bad_epochs = float("inf"), 0
for epoch in range(200):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(xb.cuda()), yb.cuda()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(xb.cuda()), yb.cuda()) for xb, yb in val_loader]
    stats = torch.stack([torch.stack(losses).sum(), torch.tensor(float(len(losses)), device="cuda")])
    dist.all_reduce(stats)
    val_loss = (stats[0] / stats[1]).item()
    bad_epochs = 0 if val_loss < best else bad_epochs + 1
    best = min(best, val_loss)
    if bad_epochs >= 5:
        break
dist.destroy_process_group()
