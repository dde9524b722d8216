import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl")
torch.manual_seed(0)
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)

dataset = TensorDataset(torch.randn(8000, 32), torch.randint(0, 10, (8000,)))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=64, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)).cuda(), device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(10):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        if torch.isnan(loss): #@
            print("NaN loss, skipping batch")
            continue #@
        optimizer.zero_grad()
        loss.backward() #@
        optimizer.step()
dist.destroy_process_group()
