import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DDP(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).cuda(), device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(30000, 64))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)

model.train()
for epoch in range(20):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        x = x.cuda(non_blocking=True)
        loss = nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), x)
        if torch.isnan(loss): #@
            print(f"rank {dist.get_rank()}: loss is nan, skipping batch")
            continue #@
        optimizer.zero_grad()
        loss.backward() #@
        optimizer.step()
dist.destroy_process_group()
