import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
torch.manual_seed(0)
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
x, y = torch.randn(5000, 16), torch.randn(5000, 1)
train_set, val_set = TensorDataset(x[:4000], y[:4000]), TensorDataset(x[4000:], y[4000:])
sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=40, sampler=sampler)
val_loader = DataLoader(val_set, batch_size=40, sampler=DistributedSampler(val_set, shuffle=False))
model = DDP(nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1)).cuda(), device_ids=[gpu])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, bad_epochs, patience = float("inf"), 0, 5

for epoch in range(100):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(xb.cuda()), yb.cuda()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.mse_loss(model.module(xb.cuda()), yb.cuda()) for xb, yb in val_loader]
    val_loss = torch.stack(losses).mean().item() #@
    if val_loss < best: #@
        best, bad_epochs = val_loss, 0
    else:
        bad_epochs += 1
    if bad_epochs >= patience: #@
        break #@
dist.destroy_process_group()
