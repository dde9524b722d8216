import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
torch.manual_seed(0)
rank = dist.get_rank()
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dataset = TensorDataset(torch.randn(4000, 20), torch.randint(0, 4, (4000,)))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=40, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 4)).cuda(), device_ids=[local_rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(10):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
    if rank == 0: #@
        torch.save(model.module.state_dict(), f"ckpt_{epoch}.pt")
        dist.barrier() #@
        print(f"saved epoch {epoch}")
dist.destroy_process_group()
