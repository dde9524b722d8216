import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return torch.stack([nn.functional.cross_entropy(model(x.cuda()), y.cuda()) for x, y in loader]).mean().item()


dist.init_process_group("nccl")
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
generator = torch.Generator().manual_seed(0)
x, y = torch.randn(3600, 8, generator=generator), torch.randint(0, 3, (3600,), generator=generator)
train_set = TensorDataset(x[:3000], y[:3000])
sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=30, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3)).cuda(), device_ids=[gpu])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best = float("inf")
for epoch in range(30):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(xb.cuda()), yb.cuda()).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        val_loss = validate(model.module, DataLoader(TensorDataset(x[3000:], y[3000:]), batch_size=30))
        if val_loss < best:
            best = val_loss
            torch.save(model.module.state_dict(), "best.pt")
    dist.barrier()
dist.destroy_process_group()
