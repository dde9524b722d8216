import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = DDP(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).cuda(), device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(20000, 64), torch.randint(-1, 10, (20000,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=4, sampler=sampler)

model.train()
for epoch in range(10):
    sampler.set_epoch(epoch)
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        labelled = y >= 0
        if labelled.sum() < 2: #@
            continue #@
        loss = nn.functional.cross_entropy(model(x[labelled]), y[labelled])
        optimizer.zero_grad()
        loss.backward() #@
        optimizer.step()
    if dist.get_rank() == 0:
        print(epoch, loss.item())
dist.destroy_process_group()
